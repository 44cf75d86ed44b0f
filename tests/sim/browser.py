#!/usr/bin/python3
"""A page in a headless Chromium, clicked and typed into as a person does.

usage: browser.py CHROMIUM FOLDER SCENARIO ARGUMENT...

By Chromium's DevTools protocol over two pipes (--remote-debugging-pipe): no port, no library. Prints a line
for each thing that is looked at: "ok NAME" or "not ok NAME: what was found". FOLDER is for its profile, and
for a picture of the page where something was not as expected. Exit status 0 unless the browser fails.
"""
import json
import os
import select
import subprocess
import sys
import time

PATIENCE = float(os.environ.get("TAP_PATIENCE", "1"))


class Browser:
    """One page; what it logs and which rules of its policy it breaks is kept in .complaints."""

    def __init__(self, program, folder, width=1400, height=1000):
        to_browser, from_us = os.pipe()
        from_browser, to_us = os.pipe()
        self.folder, self.complaints, self.number, self.buffer = folder, [], 0, b""

        def descriptors():
            # Above 4 first: one of them may be 3 or 4.
            high = [os.dup2(fd, 60 + i) for i, fd in enumerate((to_browser, to_us))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        with open(os.path.join(folder, "chromium.log"), "wb") as log:
            self.process = subprocess.Popen(
                [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--user-data-dir=" + os.path.join(folder, "chromium"),
                 f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank"],
                close_fds=False, preexec_fn=descriptors, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(to_browser)
        os.close(to_us)
        self.out, self.into, self.session = from_us, from_browser, None
        pages = self.call("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call("Page.addScriptToEvaluateOnNewDocument",
                  source="document.addEventListener('securitypolicyviolation', function (e) {"
                         "console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample)})")

    def read(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.into], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.into, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.complaints.append(" ".join(str(arg.get("value")) for arg in params["args"]))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"])
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 30 * PATIENCE
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def eval(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + json.dumps(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def until(self, expression):
        deadline = time.monotonic() + 20 * PATIENCE
        while not self.eval(expression):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                  buttons=0 if kind == "mouseReleased" else 1, clickCount=1)

    def box(self, element):
        return self.eval(f"(function (e) {{ e.scrollIntoView({{block: 'center'}}); var b = e.getBoundingClientRect();"
                         f" return [b.x, b.y, b.width, b.height] }})({element})")

    def click(self, element, at=0.5):
        x, y, width, height = self.box(element)
        self.mouse("mousePressed", x + width * at, y + height / 2)
        self.mouse("mouseReleased", x + width * at, y + height / 2)

    def drag(self, element, start, end):
        x, y, width, height = self.box(element)
        self.mouse("mousePressed", x + width * start, y + height / 2)
        self.mouse("mouseMoved", x + width * (start + end) / 2, y + height / 2)
        self.mouse("mouseMoved", x + width * end, y + height / 2)
        self.mouse("mouseReleased", x + width * end, y + height / 2)

    def type(self, element, text):
        self.eval(element + ".focus()")
        self.call("Input.insertText", text=text)

    def key(self, key, modifiers=0):
        codes = {"Escape": 27, "Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, modifiers=modifiers,
                      windowsVirtualKeyCode=codes[key])

    def back(self):
        history = self.call("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] - 1]
        self.call("Page.navigateToHistoryEntry", entryId=entry["id"])

    def resize(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        import base64
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        try:
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError, RuntimeError):
            self.process.kill()
        self.process.wait()


class Scenario:
    def __init__(self, browser):
        self.browser = browser

    def say(self, name, good, found=""):
        print(f"ok {name}" if good else f"not ok {name}: {found!r}", flush=True)

    def same(self, name, found, expected):
        self.say(name, found == expected, f"{found!r}, expected {expected!r}")

    def quiet(self, name):
        self.say(name, not self.browser.complaints, self.browser.complaints[:3])
        self.browser.complaints = []

    def wide(self, name):
        """No page is wider than the window, whatever it is; what is wide scrolls by itself."""
        for width in (375, 1400):
            self.browser.resize(width, 900, "light")
            over = self.browser.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            self.say(f"{name} fits into {width} pixels", over <= 1, over)  # 1: a fraction, rounded

    # --- flame graphs ---------------------------------------------------------------------------

    FRAMES = "document.querySelectorAll('#flame .f')"

    def frame(self, text):
        return ("[].slice.call(document.querySelectorAll('#flame .f')).filter(function (f) {"
                f"return f.getAttribute('aria-label').indexOf({json.dumps(text + ', ')}) === 0 }})[0]")

    def flame(self, url, wanted):
        """A profile with times; wanted: a frame below the root that takes part of the samples."""
        b = self.browser
        b.open(url)
        all_frames = b.eval(self.FRAMES + ".length")
        self.say("the script has drawn frames", all_frames > 10, all_frames)
        address = b.eval("location.href")
        width = b.eval(self.frame(wanted) + ".getAttribute('width')")
        self.say("a frame has its share", 5 < float(width.rstrip("%")) < 95, width)
        b.click(self.frame(wanted))
        self.same("a click makes it as wide as the picture", b.eval(self.frame(wanted) + ".getAttribute('width')"), "100%")
        self.say("the address says so", "#zoom=" in b.eval("location.hash"), b.eval("location.hash"))
        zoomed = b.eval("location.href")
        b.back()
        self.say("back makes it narrow again", b.until(self.frame(wanted) + f".getAttribute('width') === {json.dumps(width)}"))
        self.same("at the address before", b.eval("location.href"), address)
        b.open(zoomed)
        self.same("a link to it shows it wide", b.eval(self.frame(wanted) + ".getAttribute('width')"), "100%")
        b.click("document.getElementById('reset')")
        self.same("the button resets it", b.eval(self.frame(wanted) + ".getAttribute('width')"), width)

        b.type("document.getElementById('find')", wanted)
        found = b.eval("document.getElementById('found').textContent")
        share = b.eval(self.frame(wanted) + ".getAttribute('aria-label')").split(", ")[2].split("%")[0]
        self.say("search counts frames, names and their share",
                 found.startswith(("1 frame, 1 name, ", "2 frames, 1 name, ")) and f"{share} % of the samples" in found,
                 (found, share))
        self.say("and marks them", b.eval("document.querySelectorAll('#flame .hit').length") >= 1)
        self.say("the address has it", "search=" in b.eval("location.hash"), b.eval("location.hash"))
        b.key("Escape")
        self.same("Escape ends it", b.eval("document.querySelectorAll('#flame .hit').length"), 0)
        self.same("and leaves the address as it was", b.eval("location.hash"), "")

        high = b.eval(f"+{self.FRAMES}[0].getAttribute('y')")
        b.click("document.getElementById('flip')")
        self.say("callers below is the other way up", b.eval(f"+{self.FRAMES}[0].getAttribute('y')") > high)
        b.back()
        self.say("back turns it", b.until(f"+{self.FRAMES}[0].getAttribute('y') === {high}"))

        b.eval(self.FRAMES + "[0].focus()")
        b.key("ArrowDown")
        self.say("an arrow key goes to a callee", b.eval("document.activeElement.getAttribute('y')") == "18",
                 b.eval("document.activeElement.outerHTML.slice(0, 200)"))
        b.key("Enter")
        self.say("Enter zooms", "#zoom=" in b.eval("location.hash"), b.eval("location.hash"))
        b.key("Escape")

        self.say("the heat map is there", b.eval("!document.getElementById('times').hidden"))
        whole = b.eval(self.frame("all") + ".getAttribute('aria-label')")
        b.drag("document.getElementById('heat')", 0.02, 0.2)
        part = b.eval(self.frame("all") + ".getAttribute('aria-label')")
        self.say("a span that is dragged over has a flame graph of its own", part != whole and "all, " in part, part)
        self.say("its samples are those of the heat map", b.eval("document.getElementById('span').textContent").split(": ")[1]
                 .split(" sample")[0] == part.split("all, ")[1].split(" sample")[0], part)
        self.say("the address has the span", "span=" in b.eval("location.hash"), b.eval("location.hash"))
        link = b.eval("location.href")
        b.click("document.getElementById('whole')")
        self.same("the button shows the whole time", b.eval(self.frame("all") + ".getAttribute('aria-label')"), whole)
        b.back()
        self.say("back shows the span", b.until(self.frame("all") + f".getAttribute('aria-label') === {json.dumps(part)}"))
        b.open("about:blank")
        b.open(link)
        self.same("a link to it, too", b.eval(self.frame("all") + ".getAttribute('aria-label')"), part)
        b.eval("document.getElementById('heat').focus()")
        b.key("ArrowRight")
        self.say("arrow keys pick the next column", b.eval("location.href") != link)
        b.key("Escape")
        self.same("Escape leaves all of it", b.eval("location.hash"), "")
        b.click(self.frame("all"))
        for bad in ("#zoom=99999999", "#zoom=-1&span=9-1", "#span=0-99999999", "#search=%ff&zoom=x", "#__proto__=1"):
            b.eval(f"location.hash = {json.dumps(bad)}")
            self.say(f"an address that means nothing shows the whole ({bad})",
                     b.until(self.frame("all") + f".getAttribute('aria-label') === {json.dumps(whole)}"))
        self.wide("the page")
        self.quiet("the page has no complaint, its policy not either")

    def difference(self, url, grown, gone):
        b = self.browser
        b.open(url)
        shares = b.eval(self.frame(grown) + ".querySelector('rect').getAttribute('class')")
        table = "document.querySelector('section.mode:not([hidden])').textContent"
        words = b.eval(table)
        self.say("what is gone is in the table", gone in words, words[:300])
        b.click("document.getElementById('mode')")
        self.say("samples instead of shares: another table", b.eval(table) != words)
        self.say("and another colour", b.eval(self.frame(grown) + ".querySelector('rect').getAttribute('class')") != shares, shares)
        self.same("the address has it", b.eval("location.hash"), "#absolute")
        b.back()
        self.say("back compares shares", b.until(f"{table} === {json.dumps(words)}"))
        self.wide("a difference")
        self.quiet("a difference has no complaint")

    def hostile(self, url):
        """Names that try to leave their place."""
        b = self.browser
        b.open(url)
        self.same("no stranger's script has run", b.eval("typeof window.owned"), "undefined")
        self.say("frames are drawn", b.eval(self.FRAMES + ".length") > 2)
        self.same("no stranger's element is there", b.eval("document.querySelectorAll('img, b, iframe').length"), 0)
        self.same("no character that turns the text is there",
                  b.eval("/[\\u202a-\\u202e\\u2066-\\u2069\\u0000-\\u0008\\u001b\\u007f-\\u009f]/.test("
                         "document.documentElement.outerHTML)"), False)
        b.type("document.getElementById('find')", "</script>")
        self.say("a search for one finds it", b.eval("document.getElementById('found').textContent").startswith("1 frame"),
                 b.eval("document.getElementById('found').textContent"))
        self.quiet("and nothing complains")

    def large(self, url):
        b = self.browser
        b.open(url)
        frames = b.eval(self.FRAMES + ".length")
        self.say("a large profile is drawn, not each of its frames", 100 < frames <= 6000, frames)
        b.click(self.FRAMES + "[5]")
        self.say("and zoomed", "#zoom=" in b.eval("location.hash"))
        self.quiet("without a complaint")

    def pages(self, *urls):
        """Pages without a script: their policy lets in what they have, and they fit."""
        for url in urls:
            name = url.rsplit("/", 1)[-1]
            self.browser.open(url)
            self.say(f"{name} is styled", self.browser.eval("getComputedStyle(document.body).marginTop") == "0px")
            self.wide(name)
            self.quiet(f"{name} has no complaint")

    def all(self, scenarios):
        """Several, one a line, in one browser: a start of it takes longer than they do."""
        for line in scenarios.splitlines():
            words = line.split()
            try:
                getattr(self, words[0])(*words[1:])
            except (RuntimeError, TimeoutError, ValueError, TypeError, AttributeError, IndexError) as error:
                self.say(words[0], False, error)

    def picture(self, url, width, height, scheme, path):
        self.browser.resize(int(width), int(height), scheme)
        self.browser.open(url)
        print("ok loaded in ms:", self.browser.eval("performance.timing.domComplete - performance.timing.navigationStart"),
              flush=True)
        self.browser.picture(path)


def main():
    program, folder, scenario = sys.argv[1:4]
    browser = Browser(program, folder)
    try:
        getattr(Scenario(browser), scenario)(*sys.argv[4:])
    except Exception as error:  # said as a failed test; the browser is closed all the same
        print(f"not ok {scenario}: {error!r}", flush=True)
        try:
            browser.picture(os.path.join(folder, scenario + ".png"))
        except Exception:
            pass
    finally:
        browser.close()


main()
