#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pyroscope's agent for Java by each way of authenticating and each base path: java.py CLASSES AGENT_JAR AT_ONCE

With `jfr: pass` the recordings go on to a Pyroscope server as they came: what the agent sends is overheard in front of
profrelay and compared with what comes out behind it. With `jfr: reject` the agent says in its log why it is refused.
PROFRELAY names the program. Prints "ok NAME" or "FAILED NAME: why" and notes the facts.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "e2e"))
import matrix  # noqa: E402
from cases import OWN_HEADER, SDKS, TOKEN, Case, cases, environment  # noqa: E402
from support.ingest import Upload, uploads_of  # noqa: E402
from support.process import Relay, config  # noqa: E402
from support.sink import Behaviour, Sink  # noqa: E402
from support.tee import Tee  # noqa: E402

JAVA = SDKS["java"]


def receiver(**more):
    return {"endpoint": "127.0.0.1:0", "jfr": "pass", **more}


def settings(sink):
    receivers = {"pyroscope/open": receiver(), "pyroscope/token": receiver(auth={"authenticator": "bearertokenauth"}),
                 "pyroscope/tenant": receiver(tenant={"required": True, "attribute": "tenant"}),
                 "pyroscope/reject": receiver(jfr="reject")}
    return config(extensions={"bearertokenauth": {"header": OWN_HEADER, "scheme": "", "token": TOKEN}}, receivers=receivers,
                  exporters={"pyroscope": {"endpoint": sink.endpoint}},
                  service={"extensions": ["bearertokenauth"],
                           "pipelines": {"profiles": {"receivers": list(receivers), "exporters": ["pyroscope"]}}})


def port_of(relay, name):
    return int(re.search(r"port (\d+)", relay.wait_line(rf"receiver/pyroscope/{name}\s.*Pyroscope at .*port"))[1])


def run(case, port, classes, jar, folder, seen):
    """What the agent says until seen(case, that) or a minute has passed."""
    env = {**os.environ, **environment(case, port), "DEMO_SECONDS": "60", "PYROSCOPE_UPLOAD_INTERVAL": "1s",
           "PYROSCOPE_LABELS": "region=eu-west-1,team=demo", "PYROSCOPE_LOG_LEVEL": "debug"}
    command = ["java", "-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Duser.name={folder.name}",
               f"-javaagent:{jar}", "-cp", f"{classes}:{jar}", "Busy"]
    path = folder / f"{case.service}.log"
    with open(path, "wb") as log:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while process.poll() is None and not seen(case, path.read_text(errors="replace")):
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                pass
        process.kill()
        process.wait()
    return path.read_text(errors="replace")


def problem(case, sent, came):
    """What is wrong with the uploads of this case that came out; None: nothing. The last may have met the end of the agent."""
    mine = [u for u in sent if u.service == case.service]
    out = [u for u in came if u.service == case.service]
    if not out:
        return f"nothing came out of {len(mine)} uploads"
    for u in out:
        if not {("region", "eu-west-1"), ("team", "demo")} <= set(u.labels.items()):
            return f"labels {u.labels}"
        if not any((u.parts.get("jfr"), u.parts.get("labels"), u.from_, u.until) ==
                   (o.parts.get("jfr"), o.parts.get("labels"), o.from_, o.until) for o in mine):
            return f"not as it came: {u.summary()} of {[o.summary() for o in mine]}"
    if len(out) < len(mine) - 1:
        return f"{len(out)} of {len(mine)} came out"
    return None


def report(name, why, log):
    print(f"FAILED pyroscope-sdk/java/{name}: {why} {log[-800:]!r}" if why else f"ok pyroscope-sdk/java/{name}")
    return "wrong" if why else "right"


def send_all(folder, classes, jar, at_once):
    """(the cases and, last, the one that is refused; what each agent said; the uploads in front and behind)"""
    wanted = [*cases("java"), Case("java", "none", "", "reject", "demo.java.rejected")]
    with Sink() as sink:
        sink.behave(Behaviour())

        def seen(case, log):
            if case.receiver == "reject":
                return "Error uploading snapshot" in log
            return sink.count(lambda r: r.accepted and f"{case.service}%7B" in r.path) > 0

        with Relay(settings(sink), folder) as relay:
            tees = {name: Tee(port_of(relay, name)) for name in ("open", "token", "tenant", "reject")}
            with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                logs = list(pool.map(lambda c: run(c, tees[c.receiver].port, classes, jar, folder, seen), wanted))
            for tee in tees.values():
                tee.close()
        came = [Upload(r.path, r.headers, r.raw) for r in sink.requests if r.accepted]
    return wanted, logs, [u for tee in tees.values() for stream in tee.streams() for u in uploads_of(stream)], came


def main(classes, jar, at_once):
    with tempfile.TemporaryDirectory(prefix="profrelay-java-") as name:
        wanted, logs, sent, came = send_all(Path(name), classes, jar, int(at_once))
    for left in Path(tempfile.gettempdir()).glob(f"{Path(name).name}-pyroscope*"):  # where the agent unpacks itself
        shutil.rmtree(left, ignore_errors=True)
    facts = []
    for case, log in zip(wanted[:-1], logs):
        result = report(f"{case.way.replace(' ', '-')}{case.path or '-no-path'}", problem(case, sent, came), log)
        facts.append(matrix.Fact(JAVA.name, JAVA.version + ", `jfr: pass`", case.way, case.path, "live", result))
    refused = "JFR" in logs[-1].partition("Error uploading snapshot: 415")[2]
    result = report("rejected", None if refused else "the agent's log has no 415 with the reason", logs[-1])
    facts.append(matrix.Fact(JAVA.name, JAVA.version + ", `jfr: reject`", "none", "", "live", "415" if refused else result))
    matrix.note("live-java", facts)
    return 1 if any(f.result == "wrong" for f in facts) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
