#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree to the conventions: one line per rule, each violation with its place and its remedy.

lint.py [--root DIR] [--fast] [--tidy BUILD_DIR [--seconds N]]     --fast leaves out what runs a compiler
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules_text  # noqa: E402
import rules_tool  # noqa: E402


def report(name, findings, note):
    if not findings:
        print(f"ok {name}" + (f" ({note})" if note else ""))
        return True
    print(f"FAILED {name}: {len(findings)} violation{'s' if len(findings) != 1 else ''}")
    for finding in findings[:40]:
        print("  " + finding)
    if len(findings) > 40:
        print(f"  ... and {len(findings) - 40} more")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--tidy", metavar="BUILD_DIR")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()

    rules = list(rules_text.RULES)
    if not options.fast:
        rules += rules_tool.RULES
    if options.tidy:
        rules.append(("clang_tidy", lambda root: rules_tool.clang_tidy(root, options.tidy, options.seconds)))
    passed = failed = skipped = 0
    for name, rule in rules:
        findings, note = rule(options.root)
        if findings is None:
            print(f"skipped {name}: {note}")
            skipped += 1
        elif report(name, findings, note):
            passed += 1
        else:
            failed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
