# SPDX-License-Identifier: Apache-2.0
"""The rules that need only the text. Each takes the root and gives (violations, note)."""
import os
import re

import source
import table

SPDX = "SPDX-License-Identifier: Apache-2.0"
SPDX_KINDS = (".c", ".h", ".cc", ".py", ".sh", ".cmake", ".go", ".js", ".mjs", ".java", ".proto", "CMakeLists.txt")
SPDX_NAMES = ("dev", ".ci/run")


def folder_of(path):
    return path.split("/", 1)[0]


def product_files(root):
    return [p for p in source.files(root) if source.is_c(p) and folder_of(p) in table.LAYERS]


def c_files(root):
    return [p for p in source.files(root) if source.is_c(p)]


def may_include(path, header):
    if folder_of(header) not in table.LAYERS:
        return False
    allowed = [folder_of(path) + "/"] + table.LAYERS[folder_of(path)] + table.LAYER_EXCEPTIONS.get(path, [])
    return any(header == a or (a.endswith("/") and header.startswith(a)) for a in allowed)


def layering(root):
    found, seen = [], 0
    for path in product_files(root):
        for number, line in enumerate(source.without_comments(source.read(root, path)).split("\n"), 1):
            include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not include:
                continue
            seen += 1
            if not may_include(path, include[1]):
                found.append(
                    f"{path}:{number}: {folder_of(path)}/ must not include \"{include[1]}\""
                    " (who may use whom: tests/lint/table.py)"
                )
    return found, f"{seen} includes"


def links(root):
    """profrelay_library(NAME SOURCES ... USES a b LIBS ...) names only folders of LINKS."""
    found = []
    for folder, allowed in table.LINKS.items():
        path = folder + "/CMakeLists.txt"
        if not os.path.exists(os.path.join(root, path)):
            continue
        text = re.sub(r"#[^\n]*", "", source.read(root, path))
        for call in re.finditer(r"profrelay_library\s*\(([^)]*)\)", text):
            words = call[1].split()
            if not words or words[0] != folder or "USES" not in words:
                continue
            for used in words[words.index("USES") + 1 :]:
                if used in ("LIBS", "SOURCES"):
                    break
                if used not in allowed:
                    found.append(f"{path}: {folder} must not be linked with {used} (see LINKS in tests/lint/table.py)")
    return found, ""


def file_length(root):
    found, longest = [], (0, "")
    for path in c_files(root):
        lines = source.read(root, path).count("\n")
        longest = max(longest, (lines, path))
        if lines > table.MAX_FILE_LINES:
            found.append(f"{path}:{lines}: {lines} lines, allowed {table.MAX_FILE_LINES}: split it, one job per file")
    return found, f"longest {longest[0]} lines: {longest[1]}"


def function_length(root):
    found, longest, count = [], (0, ""), 0
    for path in c_files(root):
        for name, line, lines in source.functions(source.read(root, path)):
            count += 1
            longest = max(longest, (lines, f"{path}:{name}"))
            if lines > table.MAX_FUNCTION_LINES:
                found.append(
                    f"{path}:{line}: {name} has {lines} lines, allowed {table.MAX_FUNCTION_LINES}: split it"
                )
    return found, f"{count} functions, longest {longest[0]} lines: {longest[1]}"


def function_median(root):
    """Lines from the signature to the closing brace, over the product's functions."""
    folders = {}
    for path in product_files(root):
        lengths = folders.setdefault(folder_of(path), [])
        lengths += [lines for _, _, lines in source.functions(source.read(root, path))]
    middle = source.median(sum(folders.values(), []))
    note = f"median {middle:g} lines: " + ", ".join(f"{f} {source.median(n):g}" for f, n in folders.items() if n)
    if middle > table.MAX_MEDIAN_FUNCTION_LINES:
        return [f"{note}; allowed {table.MAX_MEDIAN_FUNCTION_LINES}: cut the long ones"], ""
    return [], note


def spdx(root):
    found = []
    for path in source.files(root):
        if not (path.endswith(SPDX_KINDS) or path in SPDX_NAMES):
            continue
        lines = source.read(root, path).split("\n", 2)
        first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
        if SPDX not in first:
            found.append(f"{path}:1: the first line must be the comment '{SPDX}'")
    return found, ""


def banners(root):
    found = []
    for path in c_files(root):
        for number, line in enumerate(source.read(root, path).split("\n"), 1):
            if re.match(r"\s*(//|/\*|\*)\s*[-=*#~]{5,}", line):
                found.append(f"{path}:{number}: a banner; a comment says why, in few words")
    return found, ""


def calls_in(code, names):
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(names) + r")\s*\(")
    for number, line in enumerate(code.split("\n"), 1):
        if not line.lstrip().startswith("#"):
            for match in pattern.finditer(line):
                yield number, match[1]


def banned_calls(root):
    found = []
    for path in c_files(root):
        banned = dict(table.BANNED_CALLS)
        if folder_of(path) in table.LAYERS:
            banned.update(table.BANNED_PRODUCT_CALLS)
        if path.startswith("tests/unit/"):
            banned.update(table.BANNED_UNIT_CALLS)
        for number, name in calls_in(source.code_only(source.read(root, path)), banned):
            if (path, name) not in table.CALL_EXCEPTIONS:
                found.append(f"{path}:{number}: {name}() is not used here; take {banned[name]}")
    return found, ""


STATIC = re.compile(r"^\s*static\s+(?!inline\b)([^=;(]*?[\s*])(\w+)\s*(\[[^;=]*\])?\s*(=|;)")
GLOBAL = re.compile(r"^(?!.*\btypedef\b)(?!static\b|extern\b|typedef\b|return\b|#)[A-Za-z_][\w\s*]*?[\s*](\w+)\s*(\[[^;=]*\])?\s*(=|;)")


def state(root):
    """No variable at file scope and no static in a function that can change."""
    found = []
    for path in product_files(root):
        for number, line in enumerate(source.code_only(source.read(root, path)).split("\n"), 1):
            match = STATIC.match(line)
            name, kind = (match[2], match[1]) if match else (None, "")
            if not match:
                match = GLOBAL.match(line)
                name, kind = (match[1], line) if match else (None, "")
            if name and not re.search(r"\bconst\b", kind) and (path, name) not in table.STATE_EXCEPTIONS:
                if not re.match(r"^(struct|enum|union)\s+\w+\s*;", line):
                    found.append(f"{path}:{number}: '{name}' is state outside an instance; put it into a struct")
    return found, ""


def typedefs(root):
    found = []
    for path in product_files(root):
        for number, line in enumerate(source.code_only(source.read(root, path)).split("\n"), 1):
            if re.match(r"\s*typedef\s+(struct|enum|union)\b[^(]*$", line):
                found.append(f"{path}:{number}: write 'struct x', no typedef")
                continue
            function = re.match(r"\s*typedef\b[^;]*?\(\s*\*\s*(\w+)\s*\)\s*\(", line)
            function = function or re.match(r"\s*typedef\b[^;(]*?(\w+)\s*\(", line)
            if function and not function[1].endswith("_fn"):
                found.append(f"{path}:{number}: the function type '{function[1]}' must end in _fn")
    return found, ""


RULES = [
    ("layering", layering),
    ("links", links),
    ("file_length", file_length),
    ("function_length", function_length),
    ("function_median", function_median),
    ("spdx", spdx),
    ("banners", banners),
    ("banned_calls", banned_calls),
    ("state", state),
    ("typedefs", typedefs),
]
