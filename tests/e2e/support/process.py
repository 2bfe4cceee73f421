# SPDX-License-Identifier: Apache-2.0
"""profrelay as a process: started, watched, measured and ended by its own pid."""
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from support import ROOT

READY = "Everything is ready. Begin running and processing data."
TIMEOUT = 60.0
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|UndefinedBehaviorSanitizer|runtime error:")

started = []  # of the test that runs now; the runner shows their last words when it fails


def program():
    path = Path(os.environ.get("PROFRELAY", ROOT / "build" / "debug" / "profrelay"))
    assert path.is_file(), f"{path} is not there: build it first, or name another with PROFRELAY"
    return str(path)


def environment(extra=None):
    """The environment without settings that would change what profrelay does."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    # What AddressSanitizer keeps of freed memory would count as growth.
    kept["ASAN_OPTIONS"] = ":".join(filter(None, [kept.get("ASAN_OPTIONS"), "quarantine_size_mb=16"]))
    kept.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return {**kept, **(extra or {})}


def run(*args, env=None, timeout=TIMEOUT, stdin=""):
    """Runs the program to its end. Returns CompletedProcess with text output, free of sanitizer findings."""
    done = subprocess.run([program(), *map(str, args)], env=environment(env), input=stdin, text=True, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert not SANITIZER.search(done.stderr), done.stderr[-4000:]
    assert done.returncode >= 0, f"ended by signal {-done.returncode}: {done.stderr[-2000:]}"
    return done


def config(**sections):
    """A configuration file's text: JSON is YAML. The metrics port is a free one unless the test says otherwise."""
    service = sections.setdefault("service", {})
    service.setdefault("telemetry", {}).setdefault("metrics", {
        "readers": [{"pull": {"exporter": {"prometheus": {"host": "localhost", "port": 0}}}}]})
    return json.dumps(sections, indent=1)


class Relay:
    """with Relay(text, folder) as relay: ... it is ready; at the end it is gone and was silent."""

    def __init__(self, text, folder, *args, env=None, name="config.yaml"):
        path = Path(folder) / name
        path.write_text(text)
        self.changed = threading.Condition()
        self.lines = []
        self.ended = False  # stderr is at its end
        self.process = subprocess.Popen([program(), "--config", str(path), *args], env=environment(env),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        started.append(self)
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.wait_line(re.escape(READY))
        except BaseException:
            self.kill()
            raise

    def _read(self):
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    @property
    def pid(self):
        return self.process.pid

    def log(self, pattern):
        """The lines so far that match."""
        with self.changed:
            return [line for line in self.lines if re.search(pattern, line)]

    def wait_line(self, pattern, count=1, timeout=TIMEOUT):
        """Blocks until so many lines on stderr match; the last of them."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                found = [line for line in self.lines if re.search(pattern, line)]
                if len(found) >= count:
                    return found[-1]
                left = end - time.monotonic()
                if self.ended or left <= 0:
                    raise AssertionError(f"no line like {pattern!r} ({len(found)} of {count}):\n" + self.tail())
                self.changed.wait(left)

    def tail(self, count=30):
        with self.changed:
            return "\n".join(self.lines[-count:])

    def listening_ports(self):
        """The TCP ports the process listens on, from the kernel's tables."""
        sockets = set()
        for fd in os.scandir(f"/proc/{self.pid}/fd"):
            try:
                target = os.readlink(fd.path)
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
        ports = []
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{self.pid}/net/{table}").read_text().splitlines()[1:]:
                part = line.split()
                if part[3] == "0A" and part[9] in sockets:
                    ports.append(int(part[1].rpartition(":")[2], 16))
        return sorted(set(ports))

    def metrics(self):
        """{name: [({label: value}, number)]} of what /metrics says now."""
        for port in self.listening_ports():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    if answer.headers.get_content_type() == "text/plain":  # the health page answers to every path
                        return parse_metrics(answer.read().decode())
            except OSError:
                continue
        raise AssertionError(f"no metrics on any of the ports {self.listening_ports()}")

    def metric(self, name, **labels):
        """The sum of all series of that name with those labels."""
        return sum(n for got, n in self.metrics().get(name, []) if labels.items() <= got.items())

    def wait_metric(self, name, least, timeout=TIMEOUT):
        """Asks again and again until the sum of the series is at least so much."""
        end = time.monotonic() + timeout
        while self.metric(name) < least:
            assert time.monotonic() < end, f"{name} stays at {self.metric(name)}, not {least}"

    def rss_bytes(self):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=TIMEOUT):
        """Waits for the end and all of stderr; the exit code."""
        code = self.process.wait(timeout)
        with self.changed:
            assert self.changed.wait_for(lambda: self.ended, timeout), "stderr stays open"
        return code

    def terminate(self, timeout=TIMEOUT):
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()

    def assert_silent(self):
        assert not self.log(SANITIZER.pattern), self.tail(60)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is not None:
            self.wait()
        elif kind is None:
            code = self.terminate()
            assert code == 0, f"exit code {code}:\n{self.tail()}"
        else:
            self.kill()
        if kind is None:
            self.assert_silent()


SERIES = re.compile(r'^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$')
LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')


def parse_metrics(text):
    out = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        found = SERIES.match(line)
        assert found, f"not a line of Prometheus text: {line!r}"
        out.setdefault(found[1], []).append((dict(LABEL.findall(found[2] or "")), float(found[3])))
    return out
