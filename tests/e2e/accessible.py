#!/usr/bin/python3
# A page that runs axe-core on other pages, each in a frame of its own, in light and in dark colours, and ends as
# one line a violation: "PAGE, SCHEME: RULE (IMPACT): ELEMENT". usage: accessible.py AXE_JS PAGE... >harness.html
import json
import os
import re
import sys

DARK = "(prefers-color-scheme:dark)"


def variants(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # axe-core is a script that the page's own policy would not run.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    name = os.path.splitext(os.path.basename(path))[0]
    if DARK not in text:
        sys.exit(f"{path} has no dark colours")
    return [[f"{name}, light", text.replace(DARK, "(max-width:0)")],
            [f"{name}, dark", text.replace(DARK, "(min-width:0)")]]


def literal(value):
    return json.dumps(value).replace("</", "<\\/").replace("<!--", "<\\!--")


with open(sys.argv[1], encoding="utf-8") as file:
    axe = file.read()
pages = [variant for path in sys.argv[2:] for variant in variants(path)]
print(f"""<!DOCTYPE html><meta charset="utf-8"><title>axe</title><pre id="said"></pre><script>
const axe = {literal(axe)}, pages = {literal(pages)}, said = [];
async function look([name, html]) {{
  const frame = document.createElement("iframe");
  frame.width = 1200;
  frame.height = 900;
  frame.srcdoc = html;
  document.body.append(frame);
  await new Promise(done => frame.onload = done);
  frame.contentWindow.eval(axe);
  const result = await frame.contentWindow.axe.run(frame.contentDocument);
  for (const rule of result.violations)
    for (const node of rule.nodes)
      said.push(`${{name}}: ${{rule.id}} (${{rule.impact}}): ${{node.html.slice(0, 300)}}`);
  said.push(`${{name}}: ${{result.passes.length}} rules passed`);
  frame.remove();
}}
(async () => {{
  try {{
    for (const page of pages)
      await look(page);
    said.push("all were looked at");
  }} catch (error) {{
    said.push("error: " + error);
  }}
  document.getElementById("said").textContent = said.join("\\n");
  document.title = "done";
}})();
</script>""")
