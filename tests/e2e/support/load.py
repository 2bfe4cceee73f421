# SPDX-License-Identifier: Apache-2.0
"""The release build under load: `profrelay_load` sends and takes, faster than Python could."""
import json
import os
import re
import subprocess
from pathlib import Path

from support import ROOT, Skip
from support.process import Relay, config

PROGRAM = Path(os.environ.get("PROFRELAY_RELEASE", ROOT / "build" / "release" / "profrelay"))


def use_release():
    """Figures of memory and speed mean something without sanitizers only. Called by a test before all else."""
    load = PROGRAM.with_name("profrelay_load")
    if not PROGRAM.is_file() or not load.is_file():
        raise Skip(f"{PROGRAM} or profrelay_load beside it is not there: ./dev build release")
    os.environ["PROFRELAY"] = str(PROGRAM)  # a file of tests runs in a process of its own
    return str(load)


class LoadSink:
    """with LoadSink() as sink: a server of HTTP/1.1 and gRPC that takes everything and counts it."""

    def __enter__(self):
        self.process = subprocess.Popen([use_release(), "--sink"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        return self

    def counts(self):
        """{"requests": so many came, "samples": in all of them}"""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def relay_config(sink, protocol, memory_limit, compression="gzip", **more):
    """OTLP in on both protocols, out to the sink over one."""
    exporter = "otlp_grpc" if protocol == "gRPC" else "otlp_http"
    return config(receivers={"otlp": {"protocols": {"grpc": {"endpoint": "127.0.0.1:0"}, "http": {"endpoint": "127.0.0.1:0"}}}},
                  exporters={exporter: {"endpoint": f"http://127.0.0.1:{sink.port}", "compression": compression}},
                  service={"memory_limit": memory_limit,
                           "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": [exporter]}}, **more})


def port(relay, protocol):
    return int(re.search(r"port (\d+)", relay.wait_line(f"OTLP/{protocol} at .*port"))[1])


def load(relay, protocol, **options):
    """Runs profrelay_load (its --help tells the options) to its end; what it says."""
    args = [use_release(), "--port", str(port(relay, protocol)), *(["--grpc"] if protocol == "gRPC" else [])]
    for name, value in options.items():
        args += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    done = subprocess.run(args, stdout=subprocess.PIPE, text=True, timeout=150, check=True)
    return json.loads(done.stdout)


def memory_bytes(relay, key):
    """VmHWM, VmRSS of the process."""
    text = Path(f"/proc/{relay.pid}/status").read_text()
    return int(re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


def cpu_seconds(relay):
    fields = Path(f"/proc/{relay.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


__all__ = ["LoadSink", "Relay", "cpu_seconds", "load", "memory_bytes", "port", "relay_config", "use_release"]
