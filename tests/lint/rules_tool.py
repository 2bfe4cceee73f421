# SPDX-License-Identifier: Apache-2.0
"""The rules that run a tool. What was good and has not changed is not looked at again (build/lint/)."""
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import time

import rules_text
import source

INCLUDES = ["-I.", "-isystem", "/usr/share/include/llhttp", "-D_GNU_SOURCE", "-DLLHTTP_STRICT_MODE=1"]
WORKERS = os.cpu_count() or 1


class Seen:
    """Remembers by content which files passed a rule."""

    def __init__(self, root, rule, salt):
        self.path = os.path.join(root, "build", "lint", rule + ".json")
        self.root, self.salt = root, salt
        try:
            with open(self.path, encoding="utf-8") as f:
                self.good = set(json.load(f))
        except (OSError, ValueError):
            self.good = set()
        self.now = set()

    def key(self, path):
        return hashlib.sha256((self.salt + "\0" + path + "\0" + source.read(self.root, path)).encode()).hexdigest()

    def todo(self, paths):
        missing = []
        for path in paths:
            key = self.key(path)
            if key in self.good:
                self.now.add(key)
            else:
                missing.append(path)
        return missing

    def passed(self, path):
        self.now.add(self.key(path))

    def save(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(sorted(self.now), f)
        os.replace(self.path + ".new", self.path)


def run(root, command):
    return subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)


def format_(root):
    tool = shutil.which("clang-format-19")
    if not tool:
        return None, "clang-format-19 is not installed"
    paths = rules_text.c_files(root)
    seen = Seen(root, "format", source.read(root, ".clang-format") if os.path.exists(root + "/.clang-format") else "")
    todo = seen.todo(paths)
    found = []
    for path in todo:
        out = run(root, [tool, "--dry-run", "-Werror", "--style=file", path])
        if out.returncode == 0:
            seen.passed(path)
        else:
            first = out.stderr.split("\n", 1)[0].split(": error")[0]
            found.append(f"{first or path}: not as the formatter writes it; run ./dev fmt")
    seen.save()
    return found, f"{len(paths)} files, {len(todo)} looked at"


def headers_alone(root):
    """Every header compiles as the only include."""
    compiler = shutil.which("gcc") or shutil.which("clang-19")
    if not compiler:
        return None, "no compiler is installed"
    headers = [p for p in rules_text.c_files(root) if p.endswith(".h") and not p.startswith("tests/interop/")]
    everything = "\0".join(p + "\0" + source.read(root, p) for p in headers)
    seen = Seen(root, "headers", hashlib.sha256(everything.encode()).hexdigest())
    todo = seen.todo(headers)
    command = [compiler, "-std=c17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *INCLUDES, "-x", "c"]
    found = []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        jobs = {p: pool.submit(compile_alone, root, command, p) for p in todo}
    for path, job in jobs.items():
        error = job.result()
        if error:
            found.append(f"{path}: does not compile alone: {error}")
        else:
            seen.passed(path)
    seen.save()
    return found, f"{len(headers)} headers, {len(todo)} looked at"


def compile_alone(root, command, path):
    # By way of a source that declares something: an empty unit is a pedantic warning.
    text = f'#include "{path}"\nextern int only_for_a_declaration;\n'
    out = subprocess.run(
        command + ["-"], cwd=root, input=text, capture_output=True, text=True, errors="replace", check=False
    )
    if out.returncode == 0:
        return None
    errors = [line for line in out.stderr.split("\n") if "error" in line]
    return errors[0] if errors else out.stderr.strip()[:200]


def clang_tidy(root, build, seconds):
    """As many of the changed files as fit into the time; what does not fit is said and looked at next time."""
    tool = shutil.which("clang-tidy-19")
    commands = os.path.join(build, "compile_commands.json")
    if not tool or not os.path.exists(commands):
        return None, f"needs clang-tidy-19 and {commands}"
    with open(commands, encoding="utf-8") as f:
        built = {os.path.relpath(c["file"], os.path.realpath(root)) for c in json.load(f)}
    paths = [p for p in rules_text.product_files(root) if p.endswith(".c") and p in built]
    headers = "\0".join(source.read(root, p) for p in rules_text.product_files(root) if p.endswith(".h"))
    salt = hashlib.sha256((source.read(root, ".clang-tidy") + headers).encode()).hexdigest()
    seen = Seen(root, "tidy", salt)
    todo = seen.todo(paths)
    end = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(lambda p: tidy_one(root, tool, build, p, end), todo))
    found, late = [], 0
    for path, lines in zip(todo, results):
        if lines is None:
            late += 1
        elif lines:
            found += lines
        else:
            seen.passed(path)
    seen.save()
    note = f"{len(paths)} files, {len(todo) - late} looked at"
    return found, note + (f", {late} left for the next run after {seconds:g} s" if late else "")


def tidy_one(root, tool, build, path, end):
    left = end - time.monotonic()
    if left <= 0:
        return None
    try:
        out = subprocess.run(
            [tool, "--quiet", "-p", build, path], cwd=root, capture_output=True, text=True, timeout=left, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    lines = (out.stdout + "\n" + out.stderr).split("\n")
    return [os.path.relpath(line, root) if line.startswith("/") else line
            for line in dict.fromkeys(lines) if ": warning: " in line or ": error: " in line]


RULES = [("format", format_), ("headers_alone", headers_alone)]
