"""Rules of the source tree that a compiler does not know. Run: tree_checks.py ROOT."""

import ast
import re
import sys
from pathlib import Path

from source_text import blanked, functions

FOLDERS = ["include", "base", "topology", "compression", "transports", "collectives", "plugin",
           "simulator", "perf", "cli", "tests", "packaging", "cmake", "docs", ".ci"]
CXX = {".h", ".cc", ".c"}

MAX_HEADER_LINES = 200
MAX_SOURCE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_FUNCTION_LINES_P95 = 40
MAX_MACROS = 9

LIBRARIES = {"include", "base", "topology", "compression", "transports", "collectives", "plugin"}
# Who may include whom, beside itself.
ALLOWED = {
    "include": set(),
    "base": set(),
    "topology": {"base"},
    "compression": {"base"},
    "transports": {"base"},
    "collectives": {"base", "topology", "compression", "transports"},
    "plugin": LIBRARIES,
    "simulator": {"base", "collectives"},
    "perf": {"include", "base"},
    "cli": LIBRARIES | {"simulator"},
    "tests": LIBRARIES | {"simulator", "cli", "perf"},
}
MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
ENVIRONMENT = re.compile(r"\b(getenv|secure_getenv|environ)\b")


def tree_files(root):
    """The project's own text files, relative to root."""
    found = [Path(name) for name in ("dev", "CMakeLists.txt", "README.md", "CONTRIBUTING.md")
             if (root / name).is_file()]
    for folder in FOLDERS:
        found += [path.relative_to(root) for path in sorted((root / folder).rglob("*"))
                  if path.is_file() and "__pycache__" not in path.parts]
    return found


def _cxx_files(root):
    return [path for path in tree_files(root) if path.suffix in CXX]


def _text(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def included_files(text):
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', text, flags=re.MULTILINE)


def include_error(source, included):
    """Why `source` may not include `included` (both Paths from the root), or None."""
    own, other = source.parts[0], included.parts[0]
    if len(included.parts) < 2 or other not in ALLOWED:
        return "include paths begin at the root of the tree"
    if own == other == "transports" and len(included.parts) > 2:
        if source.parts[1] != included.parts[1]:
            return "transports are blind to one another"
    if own == other:
        return None
    measures = own == "perf" and source.parts[1] == "bench"
    if other not in ALLOWED[own] and not (measures and other in LIBRARIES):
        return f"{own}/ may not include {other}/"
    if own == "collectives" and len(included.parts) > 2:
        return f"collectives/ may include only the interface headers {other}/*.h"
    return None


def check_includes(root):
    for path in _cxx_files(root):
        if path.parts[0] not in ALLOWED:
            continue
        for included in included_files(_text(root, path)):
            error = include_error(path, Path(included))
            if error:
                yield f'{path}: #include "{included}": {error}'


def check_file_sizes(root):
    for path in tree_files(root):
        if path.suffix not in CXX | {".py", ".sh"} and path.name != "dev":
            continue
        lines = _text(root, path).count("\n")
        limit = MAX_HEADER_LINES if path.suffix == ".h" else MAX_SOURCE_LINES
        if lines > limit:
            yield f"{path}: {lines} lines, the limit is {limit}"


def _python_lengths(text):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(node.name, node.lineno, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def function_lengths(root):
    """(path, name, line, lines) of every function in the tree."""
    for path in tree_files(root):
        if path.suffix in CXX:
            found = [(f.name, f.first_line, f.lines) for f in functions(_text(root, path))]
        elif path.suffix == ".py":
            found = _python_lengths(_text(root, path))
        else:
            continue
        for name, line, lines in found:
            yield path, name, line, lines


def check_function_lengths(root):
    lengths = []
    for path, name, line, lines in function_lengths(root):
        lengths.append(lines)
        if lines > MAX_FUNCTION_LINES:
            yield f"{path}:{line}: {name} has {lines} lines, the limit is {MAX_FUNCTION_LINES}"
    lengths.sort()
    p95 = lengths[int(len(lengths) * 0.95)] if lengths else 0
    if p95 > MAX_FUNCTION_LINES_P95:
        yield f"95th percentile of function lengths is {p95}, the limit {MAX_FUNCTION_LINES_P95}"


def check_environment_readers(root):
    for path in _cxx_files(root):
        if path.parts[0] == "base":
            continue
        for number, line in enumerate(blanked(_text(root, path)).splitlines(), 1):
            if ENVIRONMENT.search(line):
                yield f"{path}:{number}: only base/ reads the environment"


def macros(root):
    for path in _cxx_files(root):
        for name in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", _text(root, path), re.MULTILINE):
            if not name.startswith("HWY_"):
                yield path, name


def check_macros(root):
    found = list(macros(root))
    if len(found) > MAX_MACROS:
        listed = ", ".join(f"{path}: {name}" for path, name in found)
        yield f"{len(found)} macros, the limit is {MAX_MACROS}: {listed}"


def check_marks(root):
    for path in tree_files(root):
        for number, line in enumerate(_text(root, path).splitlines(), 1):
            if MARK.search(line):
                yield f"{path}:{number}: unfinished: {line.strip()}"


CHECKS = {
    "include graph": check_includes,
    "file sizes": check_file_sizes,
    "function lengths": check_function_lengths,
    "environment readers": check_environment_readers,
    "macros": check_macros,
    "unfinished marks": check_marks,
}


def main():
    root = Path(sys.argv[1]).resolve()
    failed = 0
    for name, check in CHECKS.items():
        errors = list(check(root))
        failed += bool(errors)
        print(f"{'FAIL' if errors else 'ok  '} {name}")
        for error in errors:
            print(f"     {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
