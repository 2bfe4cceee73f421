#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/pyroscope-matrix.md: what tests have seen of each client, way to authenticate and base path.

  matrix.py write                     writes the page from all facts in build/pyroscope/facts
  matrix.py check KIND [SDK ...]      0 if the page's cells of that kind (live, recorded, built) are the facts of the last
                                      run; SDK: only those of these

Tests note a fact with note(); a file of facts has one line per fact, its fields apart by tabs.
"""
import sys
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FACTS = ROOT / "build" / "pyroscope" / "facts"
PAGE = ROOT / "docs" / "pyroscope-matrix.md"
KINDS = ("live", "recorded", "built")

# result: "right", or in words what happens instead. path: the base path of the configured address, "" = none.
Fact = namedtuple("Fact", "sdk version way path kind result")

HEAD = """# Pyroscope clients: what works

Made from what tests have seen by `tests/interop/pyroscope/matrix.py write`; they fail when this page says anything else.
A row is a client and a way to authenticate, a column the base path of the address that is configured in the client.

- **live**: the client itself runs in `./dev test --interop` and sends to profrelay.
- **recorded**: the bytes that it once sent are sent again, in `./dev test --e2e`.
- **built**: requests made by hand from what is known about the client, in `./dev test --e2e`.

*right*: the profile arrives as OTLP (JFR, handed on: as the same recording) under its service with its labels, and the
function that burns the CPU is on top, or all totals are those of the recording. An empty cell has not been tried.
"""


def note(name, facts):
    """Keeps the facts of one test (name: of the file), instead of those of its last run."""
    FACTS.mkdir(parents=True, exist_ok=True)
    part = FACTS / f"{name}.part"  # others read at the same time
    part.write_text("".join("\t".join(f) + "\n" for f in sorted(set(facts))))
    part.rename(FACTS / f"{name}.tsv")


def noted(kind):
    lines = [line for file in FACTS.glob("*.tsv") for line in file.read_text().splitlines()]
    facts = {Fact(*line.split("\t")) for line in lines}
    return {f for f in facts if f.kind == kind}


def path_order(path):
    return (path.rstrip("/"), path)


def cells(facts):
    """What stands in one cell: each result with the ways it was seen."""
    kinds = {}
    for f in facts:
        kinds.setdefault(f.result, set()).add(f.kind)
    return "; ".join(f"{', '.join(k for k in KINDS if k in kinds[result])}: {result}" for result in sorted(kinds))


def shown(path):
    return f"`{path}`" if path else "(none)"


def render(facts):
    out = [HEAD]
    for sdk in sorted({f.sdk for f in facts}):
        of_sdk = [f for f in facts if f.sdk == sdk]
        paths = sorted({f.path for f in of_sdk}, key=path_order)
        out.append(f"\n## {sdk}\n\n| version | way | {' | '.join(shown(p) for p in paths)} |\n|---|---|{'---|' * len(paths)}\n")
        for version, way in sorted({(f.version, f.way) for f in of_sdk}):
            row = [cells([f for f in of_sdk if (f.version, f.way, f.path) == (version, way, p)]) for p in paths]
            out.append(f"| {version} | {way} | {' | '.join(row)} |\n")
    return "".join(out)


def parse(page):
    """The facts that the page states."""
    facts, sdk, paths = set(), "", []
    for line in page.splitlines():
        if line.startswith("## "):
            sdk = line[3:]
        if not line.startswith("| "):
            continue
        version, way, *row = [x.strip() for x in line.strip("|").split("|")]
        if version == "version":
            paths = ["" if x == "(none)" else x.strip("`") for x in row]
            continue
        for path, cell in zip(paths, row):
            for part in filter(None, cell.split("; ")):
                kinds, _, result = part.partition(": ")
                facts.update(Fact(sdk, version, way, path, kind, result) for kind in kinds.split(", "))
    return facts


def differences(kind, only=()):
    """Lines about each fact of that kind that is only on the page, or only seen."""
    page = {f for f in parse(PAGE.read_text() if PAGE.exists() else "") if f.kind == kind and (f.sdk in only or not only)}
    seen = {f for f in noted(kind) if f.sdk in only or not only}
    return [f"on the page, not seen: {' | '.join(f)}" for f in sorted(page - seen)] + \
           [f"seen, not on the page: {' | '.join(f)}" for f in sorted(seen - page)]


def main():
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(render({f for kind in KINDS for f in noted(kind)}))
        return 0
    if len(sys.argv) >= 3 and sys.argv[1] == "check" and sys.argv[2] in KINDS:
        lines = differences(sys.argv[2], sys.argv[3:])
        print("\n".join(lines + ["run tests/interop/pyroscope/matrix.py write"] if lines else []), end="")
        return 1 if lines else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
