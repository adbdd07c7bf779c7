"""Verifies each DKIM signature of a mail with dkimpy: dkim_verify.py MAIL DNS, where DNS is JSON of names and records.

Prints JSON: of each signature its selector and whether it holds.
"""

import json
import re
import sys

import dkim


def main():
    with open(sys.argv[1], "rb") as file:
        mail = file.read()
    with open(sys.argv[2], encoding="utf-8") as file:
        records = json.load(file)

    def dns(name, timeout=5):
        text = records.get(name.decode().rstrip("."))
        return text.encode() if text else None

    held = {}
    signed = dkim.DKIM(mail)
    count = sum(name.lower() == b"dkim-signature" for name, _ in signed.headers)
    for index in range(count):
        field = [value for name, value in signed.headers if name.lower() == b"dkim-signature"][index]
        selector = re.search(rb"\bs=([^;\s]+)", field).group(1).decode()
        try:
            held[selector] = dkim.DKIM(mail).verify(idx=index, dnsfunc=dns)
        except dkim.DKIMException as error:
            print(f"{selector}: {error}", file=sys.stderr)
            held[selector] = False
    print(json.dumps(held))


main()
