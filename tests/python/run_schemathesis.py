"""Schemathesis as a program: `run_schemathesis.py run http://127.0.0.1:7280/openapi.json`."""

import sys

from schemathesis.cli import schemathesis

sys.exit(schemathesis())
