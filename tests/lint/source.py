# SPDX-License-Identifier: Apache-2.0
"""Reading the tree: which files there are, C code without comments and strings, where functions are."""
import os
import re
import statistics

SKIPPED_FOLDERS = {"build", ".git", ".cache", "__pycache__", "node_modules", "vendor", "seeds", "testdata"}
TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in SKIPPED_FOLDERS)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def is_c(path):
    return path.endswith((".c", ".h", ".cc"))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKENS.sub(lambda m: blank(m[0]) if m[0][0] == "/" else m[0], text)


def code_only(text):
    """Comments and the insides of strings become blanks; every line stays where it is."""
    return TOKENS.sub(lambda m: blank(m[0]) if m[0][0] == "/" else m[0][0] + blank(m[0][1:-1]) + m[0][-1], text)


def functions(text):
    """(name, line, lines) of each definition; lines count from the signature to the closing brace.

    The formatter puts a function's braces, and no others, alone at the start of a line."""
    lines = code_only(text).split("\n")
    opened = None
    for at, line in enumerate(lines):
        if line.rstrip() == "{" and opened is None:
            opened = first_line_of_signature(lines, at)
        elif line.startswith("}") and opened is not None:
            name = re.search(r"(\w+)\s*\(", " ".join(lines[opened:at]))
            yield (name[1] if name else "?", opened + 1, at - opened + 1)
            opened = None


def first_line_of_signature(lines, brace):
    at = brace
    while at > 0:
        above = lines[at - 1].strip()
        if above == "" or above[-1] in ";}" or above[0] == "#" or above[-1] == "\\":
            break
        at -= 1
    return at


def median(numbers):
    return statistics.median(numbers) if numbers else 0
