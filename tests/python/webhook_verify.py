"""Verifies webhooks with the library of Standard Webhooks: webhook_verify.py CALLS, where CALLS is JSON, a list of what
arrived (`headers`, `body` in base64) and the key that its receiver was told (`secret`).

Prints JSON: of each call what it says, or null if it is not believed.
"""

import base64
import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        calls = json.load(file)
    believed = []
    for call in calls:
        try:
            believed.append(Webhook(call["secret"]).verify(base64.b64decode(call["body"]), call["headers"]))
        except WebhookVerificationError as error:
            print(error, file=sys.stderr)
            believed.append(None)
    print(json.dumps(believed))


main()
