"""Checks signatures of Amazon's Version 4 with botocore: sigv4_verify.py REQUESTS, where REQUESTS is JSON, a list of what
arrived (`url`, `headers`, `body` in base64) and by which key it should be signed (`key`, `secret`, `region`, `service`).

Prints JSON: of each request whether its Authorization is the one that botocore makes of it.
"""

import base64
import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

# Headers that are signed by whoever signs the request; botocore signs all that it is given.
SIGNED = ("content-type", "host", "x-amz-date")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    held = []
    for one in asked:
        headers = {name: one["headers"][name] for name in SIGNED}
        request = AWSRequest("POST", one["url"], headers=headers, data=base64.b64decode(one["body"]))
        request.context["timestamp"] = one["headers"]["x-amz-date"]
        credentials = Credentials(one["key"], one["secret"])
        signer = SigV4Auth(credentials, one["service"], one["region"])
        text = signer.string_to_sign(request, signer.canonical_request(request))
        names = signer.signed_headers(signer.headers_to_sign(request))
        expected = "AWS4-HMAC-SHA256 " + ", ".join([
            f"Credential={signer.scope(request)}",
            f"SignedHeaders={names}",
            f"Signature={signer.signature(text, request)}",
        ])
        held.append(one["headers"]["authorization"] == expected)
    print(json.dumps(held))


main()
