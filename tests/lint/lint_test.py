#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The linter's own test: a clean tree passes every rule; each planted violation is found by its rule, and only by it."""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules_text  # noqa: E402
import rules_tool  # noqa: E402
import source  # noqa: E402
import table  # noqa: E402

HEAD = "// SPDX-License-Identifier: Apache-2.0\n"
CLEAN = {
    ".clang-format": "BasedOnStyle: LLVM\nIndentWidth: 4\nColumnLimit: 120\nBreakBeforeBraces: Linux\n"
    "AllowShortFunctionsOnASingleLine: None\n",
    "base/a.h": HEAD + "#ifndef BASE_A_H\n#define BASE_A_H\n\n#include <stddef.h>\n\nsize_t a_size(void);\n\n#endif\n",
    "base/a.c": HEAD
    + '#include "base/a.h"\n\n// strcpy( in a comment and in "system(" is nobody\'s call.\n'
    + 'static const char *const text = "gets( // no";\ntypedef int (*call_fn)(int);\n\n'
    + "size_t a_size(void)\n{\n    return sizeof(text);\n}\n",
    "base/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nprofrelay_library(base\n  SOURCES a.c)\n",
    "codec/b.c": HEAD + '#include "base/a.h"\n\nsize_t b_size(void);\n\nsize_t b_size(void)\n{\n    return a_size();\n}\n',
    "codec/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nprofrelay_library(codec SOURCES b.c USES base LIBS x)\n",
    "pipeline/main.c": HEAD + '#include "receivers/receivers.h"\n',
    "receivers/receivers.h": HEAD + "struct module;\n",
}


def long_function(lines):
    return "int f(int x)\n{\n" + "    x++;\n" * (lines - 4) + "    return x;\n}\n"


def added(path, text):
    return {path: CLEAN[path] + text}


# (rule, name of the case, files that differ from the clean tree)
PLANTED = [
    ("layering", "base uses codec", {"base/a.c": HEAD + '#include "codec/b.h"\n'}),
    ("layering", "codec uses net", {"codec/c.c": HEAD + '#include "net/http.h"\n'}),
    ("layering", "a processor uses the net", {"processors/p.c": HEAD + '#include "net/http.h"\n'}),
    ("layering", "a processor uses the queue's inside", {"processors/p.c": HEAD + '#include "pipeline/graph.h"\n'}),
    ("layering", "the graph names a table", {"pipeline/graph.c": HEAD + '#include "receivers/receivers.h"\n'}),
    ("layering", "an include of nowhere", {"base/a.c": HEAD + '#include "a.h"\n'}),
    ("layering", "product uses the tests", {"base/a.c": HEAD + '#include "tests/support/test.h"\n'}),
    ("links", "codec is linked with net", {
        "codec/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nprofrelay_library(codec SOURCES b.c USES base net)\n"
    }),
    ("file_length", "901 lines", {"base/long.c": HEAD + "\n" * 900}),
    ("function_length", "101 lines", {"tests/unit/base/f_test.c": HEAD + "int f(int x);\n\n" + long_function(101)}),
    ("function_median", "all functions have 13 lines", {
        "base/a.c": HEAD + '#include "base/a.h"\n\n' + long_function(13).replace("f(", "g(", 1),
        "codec/b.c": HEAD + long_function(13).replace("f(", "h(", 1),
    }),
    ("spdx", "a C file without", {"base/z.c": '#include "base/a.h"\n'}),
    ("spdx", "a script without", {"tests/x.py": "#!/usr/bin/env python3\nprint()\n"}),
    ("banners", "a line of stars", added("codec/b.c", "\n// *****************\n")),
    ("state", "a static counter in a function", added(
        "codec/b.c", "\nint next(void);\n\nint next(void)\n{\n    static int n;\n    return n++;\n}\n")),
    ("state", "a static at file scope", added("codec/b.c", "\nstatic struct x *all[4];\n")),
    ("state", "a global", added("codec/b.c", "\n__extension__ typedef __int128 wide;\nint counter = 0;\n")),
    ("typedefs", "a struct with typedef", added("codec/b.c", "\ntypedef struct thing thing;\n")),
    ("typedefs", "a function type without _fn", added("codec/b.c", "\ntypedef void (*handler)(int x);\n")),
    ("format", "three spaces", added("codec/b.c", "\nint  three;\n".replace("int", "extern   int"))),
    ("headers_alone", "a header that needs another", {"base/n.h": HEAD + "size_t n_size(void);\n"}),
]
for banned in table.BANNED_CALLS:
    PLANTED.append(("banned_calls", banned, added("codec/b.c", f"\nvoid v(void);\n\nvoid v(void)\n{{\n    {banned}();\n}}\n")))
for banned in table.BANNED_PRODUCT_CALLS:
    PLANTED.append(("banned_calls", banned, added("codec/b.c", f"\nvoid v(void);\n\nvoid v(void)\n{{\n    {banned}();\n}}\n")))
for banned in table.BANNED_UNIT_CALLS:
    PLANTED.append(("banned_calls", "unit test calls " + banned, {
        "tests/unit/base/s_test.c": HEAD + f"void v(void);\n\nvoid v(void)\n{{\n    {banned}(1);\n}}\n"}))


def plant(root, tree):
    shutil.rmtree(root, ignore_errors=True)
    for path, text in tree.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(text)


def fired(root, rules):
    """The rules that found something; a rule whose tool is missing counts as silent."""
    return {name: found for name, found, in ((n, r(root)[0]) for n, r in rules) if found}


def check_planted(root, failures):
    for rule, name, changes in PLANTED:
        plant(root, {**CLEAN, **changes})
        slow = rule in dict(rules_tool.RULES)
        if slow and dict(rules_tool.RULES)[rule](root)[0] is None:
            print(f"skipped {rule}: its tool is not installed")
            continue
        result = fired(root, rules_text.RULES + (rules_tool.RULES if slow else []))
        if list(result) != [rule] or len(result[rule]) != 1:
            failures.append(f"{rule}, {name}: expected this rule once, got {result}")


def check_clean(root, failures):
    plant(root, CLEAN)
    for _ in range(2):  # the second time from memory
        result = fired(root, rules_text.RULES + rules_tool.RULES)
        if result:
            failures.append(f"the clean tree: {result}")


def check_memory(root, failures):
    """What passed is remembered by content: spoiling the file afterwards must be noticed."""
    plant(root, CLEAN)
    fired(root, rules_tool.RULES)
    with open(os.path.join(root, "base/a.h"), "a", encoding="utf-8") as f:
        f.write("off_t   b_size(int a);\n")
    result = set(fired(root, rules_tool.RULES))
    expected = {n for n, r in rules_tool.RULES if r(root)[0] is not None}
    if result != expected:
        failures.append(f"a file spoiled after it passed: found by {result}, expected {expected}")


def check_functions(failures):
    text = HEAD + "struct x {\n    int a;\n};\n\nstatic const int n[] = {\n    1,\n};\n\n"
    text += "static int\nf(int x,\n  int y)\n{\n    return x + y;\n}\n\nint g(void)\n{\n    return 0;\n}\n"
    found = list(source.functions(text))
    if found != [("f", 10, 6), ("g", 17, 4)]:
        failures.append(f"function lengths: {found}")


def main():
    failures = []
    root = tempfile.mkdtemp(prefix="lint-test-")
    try:
        check_clean(root, failures)
        check_planted(root, failures)
        check_memory(root, failures)
        check_functions(failures)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for failure in failures:
        print("FAILED " + failure)
    total = len(PLANTED) + 3
    print(f"{total - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
