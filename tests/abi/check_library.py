#!/usr/bin/python3
"""Holds what the library asks of the machine it is loaded on: the NEEDED list, no run path, the
newest glibc and libstdc++ symbol versions, and its exported symbols.

usage: check_library.py LIBRARY EXPORT_MAP [--sanitized]
"""

import argparse
import re
import subprocess
import sys

ALLOWED_NEEDED = {
    "libc.so.6",
    "libm.so.6",
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
SANITIZERS = {"libasan.so.8", "libubsan.so.1", "libtsan.so.2"}
FLOORS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}


def readelf(library, *options):
    return subprocess.run(
        ["readelf", "--wide", *options, library], check=True, capture_output=True, text=True
    ).stdout


def needed_problems(library, sanitized):
    dynamic = readelf(library, "-d")
    allowed = ALLOWED_NEEDED | (SANITIZERS if sanitized else set())
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if name not in allowed:
            yield f"needs {name} at load time"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "carries a run path"
    if "TEXTREL" in dynamic:
        yield "has text relocations"
    if re.search(r"\bNODELETE\b", dynamic):
        yield "refuses to be unloaded"


def floor_problems(library):
    for symbol in re.findall(r"UND (\S+@\S+)", readelf(library, "--dyn-syms")):
        match = re.search(r"@+([A-Z]+)_([0-9.]+)$", symbol)
        if not match or match[1] not in FLOORS:
            continue
        version = tuple(int(part) for part in match[2].split("."))
        if version > FLOORS[match[1]]:
            yield f"needs {symbol}"


def export_problems(library, export_map):
    with open(export_map, encoding="utf-8") as text:
        listed = re.search(r"global:(.*?)local:", text.read(), re.S)[1]
    wanted = set(listed.replace(";", " ").split())
    exported = set()
    for line in readelf(library, "--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK", "UNIQUE") and fields[6] != "UND":
            exported.add(fields[7].split("@")[0])
    for name in sorted(wanted - exported):
        yield f"does not export {name}"
    for name in sorted(exported - wanted):
        yield f"exports {name}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("export_map")
    parser.add_argument("--sanitized", action="store_true", help="built with sanitizers: no floors")
    options = parser.parse_args()
    problems = list(needed_problems(options.library, options.sanitized))
    problems += export_problems(options.library, options.export_map)
    if not options.sanitized:
        problems += floor_problems(options.library)
    for problem in problems:
        print(f"{options.library} {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
