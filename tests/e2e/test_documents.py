# SPDX-License-Identifier: Apache-2.0
"""What the repository says about itself is true: the example, the pages, the texts."""
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PROFRELAY", str(ROOT / "build/debug/profrelay"))


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_the_example_is_valid(folder):
    result = run("validate", "--config", "config.example.yaml")
    assert result.returncode == 0, result.stderr
    assert result.stderr == "", result.stderr


def test_the_example_lists_every_module_and_key(folder):
    want = ["# " + line if line else "#" for line in (x.rstrip() for x in run("components").stdout.splitlines())]
    have = [line.rstrip() for line in (ROOT / "config.example.yaml").read_text().splitlines()]
    missing = [line for line in want if line not in have]
    assert not missing, "run: profrelay components, and bring config.example.yaml up to date; missing: " + "; ".join(missing[:3])
    start = have.index(want[0])
    assert have[start:start + len(want)] == want, "the reference in config.example.yaml is not what `components` prints"


def test_every_module_has_a_page(folder):
    for line in run("components").stdout.splitlines():
        found = re.match(r"(receiver|processor|exporter|extension) (\w+): ", line)
        if found:
            page = ROOT / "docs" / (found[1] + "s") / (found[2] + ".md")
            assert page.exists(), f"{page.relative_to(ROOT)} is missing"


def test_the_examples_in_the_pages_are_valid(folder):
    """Each ```yaml block that has a `service:` is a whole configuration."""
    checked = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S):
            if "service:" not in block:
                continue
            path = Path(folder) / "page.yaml"
            path.write_text(block)
            result = run("validate", "--config", str(path))
            assert result.returncode == 0, f"{page.relative_to(ROOT)}: {result.stderr}"
            checked += 1
    assert checked >= 3, f"only {checked} whole configurations found in the pages"


def test_links_in_the_pages_lead_somewhere(folder):
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}, which is not there"
