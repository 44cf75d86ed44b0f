#!/usr/bin/python3
"""Whether the policy (CSP) of a page of HTML names what is in it by hashes, and nothing else.

usage: policy.py PAGE [HEAD]      HEAD: of the answer that brought it, which has the policy too

Prints what is wrong, in one line; an empty one when nothing is.
"""
import base64
import hashlib
import html
import re
import sys

page, head = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2:]
policies = [html.unescape(p) for p in re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)]
policies += [re.search(r"(?im)^content-security-policy: (.*?)\r?$", open(name).read()).group(1) for name in head]
wrong = [] if len(policies) == 1 + len(head) else [f"{len(policies)} policies"]
outside = re.sub(r"(?s)<(style|script)[^>]*>.*?</\1>", "", page)
wrong += re.findall(r"(?i)<[^>]*\sstyle=[^>]*>", outside)[:2] + re.findall(r"(?i)<[^>]*\son[a-z]+=[^>]*>", outside)[:2]
for policy in policies:
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    wrong += re.findall("unsafe-[a-z-]*", policy)
    if rules["default-src"].strip() != "'none'":
        wrong.append(rules["default-src"])
    for kind in "style", "script":
        for attributes, text in re.findall(rf"(?s)<{kind}([^>]*)>(.*?)</{kind}>", page):
            hashed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            if "application/json" not in attributes and f"'sha256-{hashed}'" not in rules[kind + "-src"]:
                wrong.append(f"a {kind} whose hash is not in {policy}")
print("; ".join(wrong))
