#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev run: starts profrelay with config.example.yaml and an OTLP endpoint of ours, gives it profiles, shows what came out."""
import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "tests" / "example")]
import samples  # noqa: E402
import summary  # noqa: E402
from support.sink import Sink  # noqa: E402

FOLDER = ROOT / "build" / "example"
SAMPLES = sum(len(stacks) * len(types) for _, types, stacks in samples.FILES.values())


def start(program, config, endpoint):
    log = open(FOLDER / "profrelay.log", "wb")
    environment = {**os.environ, "PROFRELAY_OTLP_ENDPOINT": endpoint}
    return subprocess.Popen([program, "--config", str(config)], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                            stdout=log, stderr=subprocess.STDOUT)


def wait_for_samples(sink, process, seconds):
    """Until every sample arrived; false when the time is up or profrelay is gone."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if count(sink) >= SAMPLES:
            return True
        with sink.changed:
            sink.changed.wait(0.1)
    return count(sink) >= SAMPLES


def count(sink):
    return sum(n for body in sink.accepted() for n, _ in summary.Request(body).lines())


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def show(sink, began):
    bodies, requests = sink.accepted(), [r for r in sink.requests if r.accepted]
    print(f"\nWhat the OTLP endpoint received ({len(bodies)} requests, {sum(len(r.raw) for r in requests):,} bytes on the wire, "
          f"all within {max(r.time for r in requests) - began:.2f} s of the start):")
    for body in bodies:
        for _, text in summary.Request(body).lines():
            print("  " + text)


def show_files():
    written = sorted(p for p in FOLDER.rglob("*") if p.is_file() and (FOLDER / "out") in p.parents)
    if written:
        print("\nWhat the file exporter wrote:")
        for path in written:
            print(f"  {path.relative_to(ROOT)} ({path.stat().st_size:,} bytes)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--config", default=ROOT / "config.example.yaml")
    options = parser.parse_args()

    shutil.rmtree(FOLDER, ignore_errors=True)  # also what a former run remembers, or nothing would be new
    (FOLDER / "in").mkdir(parents=True)
    (FOLDER / "out").mkdir()
    (FOLDER / "storage").mkdir()
    for name in samples.write(FOLDER / "in"):
        print(f"sample profile: build/example/in/{name}")
    with Sink() as sink:
        print(f"OTLP endpoint:  {sink.endpoint} (ours, for this run)")
        print(f"starting:       {os.path.relpath(options.program, ROOT)} --config config.example.yaml")
        began = time.monotonic()
        process = start(os.path.abspath(options.program), options.config, sink.endpoint)
        try:
            arrived = wait_for_samples(sink, process, 30)
        finally:
            code = stop(process)
        if not arrived or code != 0:
            print(f"\nFAILED: {count(sink)} of {SAMPLES} samples arrived, exit code {code}. The log's end:")
            print("\n".join((FOLDER / "profrelay.log").read_text(errors="replace").splitlines()[-25:]))
            return 1
        show(sink, began)
    show_files()
    print(f"\nAll {SAMPLES} samples arrived; profrelay was stopped and ended well. Where to look next:\n"
          "  build/example/profrelay.log              its log\n"
          "  config.example.yaml                      every module and key, explained\n"
          "  build/release/profrelay --help           the commands\n"
          "  build/release/profrelay import FILE... --to URL    your own files, once\n"
          "  ARCHITECTURE.md                          the life of one profile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
