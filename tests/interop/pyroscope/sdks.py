#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the SDKs' busy programs by each way of authenticating and each base path, and judges what arrived of them.

  sdks.py run SDK WORK SECONDS AT_ONCE PORTS PROGRAM...   PORTS: open=N,token=N,...
  sdks.py judge SDK WORK JUDGE ARRIVED                    ARRIVED: the folder of `judge serve`
DEMO_CA names the certificate to trust with TLS. The output of each run is in WORK/SERVICE.log. judge prints "ok NAME" or "FAILED NAME: why" and notes the facts.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import matrix  # noqa: E402
from cases import SDKS, TENANT, cases, environment  # noqa: E402


def run_one(case, work, seconds, ports, program):
    env = {**os.environ, **environment(case, ports[case.receiver]), "DEMO_SECONDS": seconds}
    with open(work / f"{case.service}.log", "wb") as log:
        try:
            code = subprocess.run(program, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=120, check=False).returncode
        except subprocess.TimeoutExpired:
            code = "timeout"
        log.write(f"exit code {code}\n".encode())


def run(sdk, work, seconds, at_once, ports, *program):
    ports = {name: int(port) for name, port in (x.split("=") for x in ports.split(","))}
    with concurrent.futures.ThreadPoolExecutor(int(at_once)) as pool:
        list(pool.map(lambda case: run_one(case, Path(work), seconds, ports, program), cases(sdk)))
    return 0


def arrived(judge, folder):
    """{service: [a profile as `judge otlp-leaves` tells it]}"""
    out = {}
    done = subprocess.run([judge, "otlp-leaves", *map(str, sorted(Path(folder).glob("*.otlp")))], stdout=subprocess.PIPE, check=True)
    for line in done.stdout.splitlines():
        profile = json.loads(line)
        out.setdefault(profile["resource"].get("service.name"), []).append(profile)
    return out


def top_of(profiles):
    sums = {}
    for p in profiles:
        for name, value in p["leaves"].items():
            sums[name] = sums.get(name, 0) + value
    return max(sums, key=sums.get) if sums else ""


def problem(case, profiles, log):
    """What is wrong with what arrived of this case; None: nothing."""
    sdk = SDKS[case.sdk]
    burning = [p for p in profiles if p["type"] == sdk.type]
    if not log.endswith("exit code 0\n"):
        return "the program did not end well"
    if not burning:
        return f"no profile of type {sdk.type} among {sorted(p['type'] for p in profiles)}"
    if not re.search(sdk.burns, top_of(burning)):
        return f"{top_of(burning)} is on top"
    wanted = {"region": "eu-west-1", "team": "demo", "came.by": case.receiver}
    if case.receiver == "tenant":
        wanted["tenant"] = TENANT
    for p in profiles:
        if not wanted.items() <= p["resource"].items():
            return f"a resource has {p['resource']}"
    if not any("/checkout" in p["labels"].get("endpoint", []) for p in burning):
        return "no sample has endpoint=/checkout"
    return None


def judge_all(sdk, work, judge, folder):
    facts, bad = [], 0
    got = arrived(judge, folder)
    for case in cases(sdk):
        name = f"pyroscope-sdk/{sdk}/{case.way.replace(' ', '-').replace(',', '')}{case.path or '-no-path'}"
        log = (Path(work) / f"{case.service}.log").read_text(errors="replace")
        result = SDKS[sdk].cannot.get(case.way, "right")
        if result != "right":
            why = "something arrived" if case.service in got else None
        else:
            why = problem(case, got.get(case.service, []), log)
        bad += bool(why)
        print(f"FAILED {name}: {why} {log[-600:]!r}" if why else f"ok {name}")
        facts.append(matrix.Fact(SDKS[sdk].name, SDKS[sdk].version, case.way, case.path, "live", "wrong" if why else result))
    if sdk != "rust":  # which runs on request only: the page has what every run gives
        matrix.note(f"live-{sdk}", facts)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit({"run": run, "judge": judge_all}[sys.argv[1]](*sys.argv[2:]))
