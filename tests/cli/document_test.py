"""docs/configuration.md is what the program prints. Run: document_test.py THINWIRE DOCUMENT."""

import subprocess
import sys

program, document = sys.argv[1:]
printed = subprocess.run([program, "config", "--markdown"], capture_output=True, check=True, text=True).stdout
with open(document, encoding="utf-8") as file:
    if file.read() != printed:
        sys.exit(f"{document} is out of date: run ./dev docs")
