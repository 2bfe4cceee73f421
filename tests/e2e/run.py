#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests/e2e/test_*.py: run.py [-k PATTERN] [-j N] [--timeout SECONDS] [FILE...]

Prints `ok NAME`, `skipped NAME: why` or `FAILED NAME: why` per test and `N passed, N failed, N skipped` at
the end; exit code 1 if anything failed. Each file runs in a process of its own, each test in a folder of its own.
The program under test is build/debug/profrelay, or the one that PROFRELAY names.
"""
import argparse
import concurrent.futures
import faulthandler
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from support import Skip, process, soak_seconds  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only tests whose name contains this")
    parser.add_argument("-j", metavar="N", type=int, default=1, help="so many files at once")
    parser.add_argument("--timeout", type=float, default=180 + 10 * soak_seconds(), help="seconds a test may take")
    parser.add_argument("--in-process", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", type=Path)
    return parser.parse_args()


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tests_of(module):
    found = [(name, f) for name, f in vars(module).items() if name.startswith("test_") and inspect.isfunction(f)]
    return sorted(found, key=lambda pair: pair[1].__code__.co_firstlineno)


def last_words():
    out = []
    for relay in process.started:
        if relay.process.poll() is None:
            relay.kill()
        out.append(f"stderr of profrelay (pid {relay.pid}, exit code {relay.process.returncode}):\n{relay.tail()}")
    return "\n".join(out)


def run_one(name, function):
    """True unless the test failed."""
    process.started.clear()
    folder = Path(tempfile.mkdtemp(prefix=f"profrelay-{function.__name__}-"))
    try:
        function(folder)
    except Skip as e:
        print(f"skipped {name}: {e}", flush=True)
    except BaseException as e:  # pylint: disable=broad-except
        first = (str(e) or type(e).__name__).splitlines()[0]
        detail = traceback.format_exc() + last_words()
        print(f"FAILED {name}: {first}", flush=True)
        print("    " + detail.replace("\n", "\n    "), flush=True)
        return False
    else:
        print(f"ok {name}", flush=True)
    finally:
        last_words()  # nothing outlives its test
        if not os.environ.get("PROFRELAY_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)
    return True


def run_file(path, pattern, timeout):
    good = True
    for name, function in tests_of(load(path)):
        full = f"{path.stem}.{name}"
        if pattern in full:
            faulthandler.dump_traceback_later(timeout, exit=True)
            good = run_one(full, function) and good
            faulthandler.cancel_dump_traceback_later()
    return good


def run_child(path, o):
    args = [sys.executable, __file__, "--in-process", str(path), "-k", o.k, "--timeout", str(o.timeout)]
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    text = done.stdout
    if done.returncode not in (0, 1) or done.returncode == 1 and "FAILED " not in text:
        text += f"FAILED {path.stem}: the test process ended with code {done.returncode}\n"
    sys.stdout.write(text)
    sys.stdout.flush()
    return text.splitlines()


def main():
    o = options()
    if o.in_process:
        return 0 if run_file(Path(o.in_process), o.k, o.timeout) else 1
    files = o.files or sorted(HERE.glob("test_*.py"))
    with concurrent.futures.ThreadPoolExecutor(max(1, o.j)) as pool:
        lines = [line for some in pool.map(lambda f: run_child(f, o), files) for line in some]
    count = {word: sum(line.startswith(word + " ") for line in lines) for word in ("ok", "FAILED", "skipped")}
    print(f"{count['ok']} passed, {count['FAILED']} failed, {count['skipped']} skipped")
    return 1 if count["FAILED"] or not count["ok"] + count["skipped"] else 0


if __name__ == "__main__":
    sys.exit(main())
