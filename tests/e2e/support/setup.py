# SPDX-License-Identifier: Apache-2.0
"""Configurations that several tests share, and what arrived, by file."""
import time
from collections import Counter

from support import otlp, pprof_make
from support.process import config

INTERVAL = "200ms"


def file_receiver(folder, service, **settings):
    """A pprof receiver that watches a folder."""
    section = {"include": f"{folder}/**/*.pb.gz", "collection_interval": INTERVAL, **settings.pop("file", {})}
    return {"file": section, "resource_attributes": {"service.name": service}, "storage": "file_storage", **settings}


def otlp_exporter(sink, **settings):
    retry = {"initial_interval": "50ms", "max_interval": "200ms", **settings.pop("retry_on_failure", {})}
    return {"endpoint": sink.endpoint, "retry_on_failure": retry, **settings}


def pipeline(folder, receivers, exporters, **more):
    """One pipeline of all of them; what was sent is remembered in folder/storage."""
    (folder / "storage").mkdir(exist_ok=True)
    service = {"extensions": ["file_storage"], **more.pop("service", {}),
               "pipelines": {"profiles": {"receivers": list(receivers), "exporters": list(exporters)}}}
    return config(receivers=receivers, exporters=exporters, service=service,
                  extensions={"file_storage": {"directory": str(folder / "storage")}}, **more)


def simple(folder, sink, **exporter):
    """Watches folder/in for the service `a` and sends to the sink."""
    (folder / "in").mkdir(exist_ok=True)
    return pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")},
                    {"otlp_http": otlp_exporter(sink, **exporter)})


def add(folder, name, **options):
    """One more file, unlike any other; it says its name in a comment. Returns what is in it."""
    data = pprof_make.make(seed=hash_of(name), comments=(name,), **options)
    pprof_make.write(folder / f"{name}.pb.gz", data)
    return data


def hash_of(name):
    return int.from_bytes(name.encode()[-6:], "big")


class Arrivals:
    """How often each (service, file) arrived and was accepted, asked as often as one likes."""

    def __init__(self, sink):
        self.sink, self.known = sink, {}

    def _of(self, request):
        if id(request) not in self.known:
            self.known[id(request)] = otlp.arrivals([request.body])
        return self.known[id(request)]

    def counts(self):
        with self.sink.changed:
            accepted = [r for r in self.sink.requests if r.accepted]
        return sum((self._of(r) for r in accepted), Counter())

    def wait(self, wanted, timeout=60.0):
        """Blocks until every one of wanted has arrived."""
        wanted = set(wanted)
        end = time.monotonic() + timeout
        while True:
            seen = self.sink.count(lambda r: r.accepted)  # before looking, so that nothing slips through
            missing = wanted - self.counts().keys()
            if not missing:
                return
            self.sink.wait(lambda s, n=seen: sum(r.accepted for r in s.requests) > n,
                           f"{len(missing)} of {len(wanted)} files, e.g. {sorted(missing)[:3]}", end - time.monotonic())


def pass_by(folder, arrivals, name, service="a"):
    """Blocks until a file that is new now has arrived: whatever was to be sent by then was."""
    add(folder, name)
    arrivals.wait([(service, name)])
