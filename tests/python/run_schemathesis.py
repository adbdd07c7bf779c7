"""Schemathesis as a program: `run_schemathesis.py run docs/openapi.yaml --url http://127.0.0.1:7280`."""

import sys

from schemathesis.cli import schemathesis

sys.exit(schemathesis())
