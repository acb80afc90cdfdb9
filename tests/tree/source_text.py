"""C++ source as text: comments and literals blanked, functions found by their braces."""

import re
from dataclasses import dataclass

CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern|concept)\b")
QUALIFIERS = {"const", "noexcept", "override", "final", "mutable", "try", "volatile", "else", "do"}
RAW_STRING = re.compile(r'R"([^()\\\s]{0,16})\(')
INITIALIZER_LIST = re.compile(r"\)\s*(noexcept(\([^)]*\))?\s*)?:(?!:)")


@dataclass
class Function:
    name: str
    first_line: int
    last_line: int

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


def _end_of_literal(text, start):
    """Index behind the string or character literal that begins at start."""
    quote = text[start]
    i = start + 1
    while i < len(text) and text[i] != quote and text[i] != "\n":
        i += 2 if text[i] == "\\" else 1
    return min(i + 1, len(text))


def _end_of_token(text, i):
    """Index behind the comment or literal at i, or i when there is none."""
    if text.startswith("//", i):
        end = text.find("\n", i)
        return len(text) if end < 0 else end
    if text.startswith("/*", i):
        end = text.find("*/", i + 2)
        return len(text) if end < 0 else end + 2
    raw = RAW_STRING.match(text, i)
    if raw:
        end = text.find(")" + raw.group(1) + '"', raw.end())
        return len(text) if end < 0 else end + len(raw.group(1)) + 2
    digit_separator = text[i] == "'" and i > 0 and text[i - 1].isalnum()
    if text[i] in "\"'" and not digit_separator:
        return _end_of_literal(text, i)
    return i


def blanked(text):
    """text with comments and literals replaced by blanks; line breaks stay."""
    out = []
    i = 0
    while i < len(text):
        end = _end_of_token(text, i)
        if end == i:
            out.append(text[i])
            i += 1
            continue
        out.append(re.sub(r"[^\n]", " ", text[i:end]))
        i = end
    return "".join(out)


def _blank_preprocessor(text):
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.MULTILINE)


def _is_initializer(head):
    """Whether a brace behind `head` begins a value rather than a body."""
    stripped = head.rstrip()
    if not stripped or stripped[-1] in "=,(&|?:":
        return True
    word = re.search(r"(\w+)$", stripped)
    if word and word.group(1) == "return":
        return True
    if word and word.group(1) in QUALIFIERS or stripped[-1] in ")}":
        return False
    after = INITIALIZER_LIST.search(stripped)
    return bool(after) and "->" not in stripped[after.start():]


def _is_function(head):
    stripped = re.sub(r"\[\[[^\]]*\]\]|template\s*<[^{}]*?>\s*(?=\w)", " ", head).strip()
    before_parameters = stripped.split("(", 1)[0]
    if "(" not in stripped or CONTAINER.match(stripped):
        return False
    return "=" not in before_parameters or "operator" in before_parameters


def _name_of(head):
    names = re.findall(r"([~\w:]+|operator\s*\S+?)\s*\(", head)
    return names[0] if names else "?"


class _Scanner:
    """Walks the braces of blanked text and notes the functions."""

    def __init__(self, text):
        self.text = text
        self.line = 1
        self.head = ""
        self.head_line = 1
        self.stack = []  # (kind, head, first line)
        self.found = []

    def run(self):
        for character in self.text:
            if character == "{":
                self._open()
            elif character == "}":
                self._close()
            elif character == ";" and not self._inside_parentheses():
                self.head = ""
            else:
                if not self.head.strip() and not character.isspace():
                    self.head = ""
                    self.head_line = self.line
                self.head += character
            self.line += character == "\n"
        return self.found

    def _inside_parentheses(self):
        return self.head.count("(") > self.head.count(")")

    def _inside_function(self):
        return any(kind == "function" for kind, _, _ in self.stack)

    def _open(self):
        if self._inside_function() or _is_initializer(self.head):
            kind = "value"
        else:
            kind = "function" if _is_function(self.head) else "container"
        self.stack.append((kind, self.head, self.head_line))
        self.head = ""

    def _close(self):
        if not self.stack:
            return
        kind, head, first = self.stack.pop()
        if kind == "function":
            self.found.append(Function(_name_of(head), first, self.line))
        keeps_head = kind == "value" and not self._inside_function()
        self.head = head + "{}" if keeps_head else ""
        self.head_line = first if keeps_head else self.line


def functions(text):
    """Every function of C++ source `text`, lambdas counted as part of theirs."""
    return _Scanner(_blank_preprocessor(blanked(text))).run()
