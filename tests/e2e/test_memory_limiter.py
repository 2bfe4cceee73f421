# SPDX-License-Identifier: Apache-2.0
"""The processor `memory_limiter`: what it lets in, what senders hear, and that nothing is lost."""
import base64
import os
import re
import socket
import threading
from collections import Counter

from support import http2, otlp
from support.process import Relay, config, run
from support.setup import otlp_exporter
from support.sink import Sink, hold
from test_batch import request
from test_otlp_receiver import PATH, PROTO, port, post

MIB = 1 << 20
CLIENTS, EACH = 8, 6
LIMIT, SOFT = 24 * MIB, 16 * MIB
UNAVAILABLE = b"14"


def relay_config(sink, processors, **service):
    receiver = {"protocols": {"grpc": {"endpoint": "127.0.0.1:0"}, "http": {"endpoint": "127.0.0.1:0"}}}
    pipelines = {"profiles": {"receivers": ["otlp"], "processors": list(processors), "exporters": ["otlp_http"]}}
    return config(receivers={"otlp": receiver}, processors=processors,
                  exporters={"otlp_http": otlp_exporter(sink, compression="none", timeout="5m")},
                  service={"workers": 2, "pipelines": pipelines, **service})


def large(name):
    """A request of a MiB that does not become smaller."""
    return request(name, {"f": 1}, tenant=base64.b64encode(os.urandom(MIB * 3 // 4)).decode())


class Client(threading.Thread):
    """Sends its requests in turn; stops at the first refusal, or with `stubborn` sends it again until it is taken."""

    def __init__(self, relay, bodies, stubborn=False):
        super().__init__(daemon=True)
        self.relay, self.left, self.stubborn = relay, list(bodies), stubborn
        self.refusals = []
        self.start()

    def run(self):
        while self.left:
            status, headers, body = post(self.relay, self.left[0], PROTO)
            if status == 200:
                self.left.pop(0)
                continue
            self.refusals.append((status, headers["Retry-After"], body))
            if not self.stubborn:
                return


def head_only(relay):
    """The answer to a request whose body is never sent."""
    with socket.create_connection(("127.0.0.1", port(relay)), 60) as connection:
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\n"
                           f"Content-Length: {MIB}\r\n\r\n".encode())
        return connection.recv(4096)


def grpc_status(relay, body):
    """The code of an export's trailers, two digits that HPACK leaves as they are."""
    peer = http2.Peer(port(relay, "gRPC"), 60)
    peer.send(http2.request(1, body))
    while frame := peer.receive():
        kind, flags, _, payload = frame
        if kind == http2.HEADERS and flags & http2.END_STREAM:
            peer.close()
            return re.search(rb"\x02(1[0-9])", payload)[1]
    return None


def test_many_large_senders(folder):
    limiter = {"memory_limiter": {"check_interval": "1s", "limit_mib": 24, "spike_limit_mib": 8}}
    names = [[f"c{c}-{i}" for i in range(EACH)] for c in range(CLIENTS)] + [[f"last-{i}" for i in range(20)]]
    with Sink() as sink:
        sink.behave(default=hold())
        with Relay(relay_config(sink, limiter), folder) as relay:
            clients = [Client(relay, map(large, n)) for n in names[:CLIENTS]]
            for c in clients:
                c.join(120)
            clients.append(Client(relay, map(large, names[CLIENTS])))  # alone: what refuses it is the soft limit
            clients[-1].join(120)
            left = [c.left for c in clients if c.left]
            refusals = [r for c in clients for r in c.refusals]
            assert clients[-1].left and relay.metric("otelcol_receiver_refused_profile_samples") > 0
            assert SOFT < relay.metric("profrelay_memory_used_bytes") <= LIMIT == relay.metric("profrelay_memory_limit_bytes")
            for status, retry_after, body in refusals:
                assert status == 503 and 1 <= int(retry_after) <= 4, (status, retry_after)
            assert b"memory_limiter: " in body and b"above 16777216 nothing new is let in" in body, body

            used = relay.metric("profrelay_memory_used_bytes")
            assert head_only(relay).startswith(b"HTTP/1.1 503 ")  # before a body is read
            assert relay.metric("profrelay_memory_used_bytes") == used
            assert grpc_status(relay, large("grpc")) == UNAVAILABLE

            sink.behave()
            sink.release()
            again = [Client(relay, bodies, stubborn=True) for bodies in left]
            while any(c.is_alive() for c in again):
                assert relay.metric("profrelay_memory_used_bytes") <= LIMIT
            sink.wait(lambda s: sum(r.accepted for r in s.requests) >= sum(map(len, names)), "all requests", 120)
        arrived = Counter(g.service for g in otlp.decode_all(sink.accepted()))
        wanted = Counter(name for n in names for name in n)
        assert arrived == wanted, (arrived - wanted, wanted - arrived)


def test_a_percentage_of_the_group(folder):
    group = folder / "sys/fs/cgroup/memory/a/b"
    group.mkdir(parents=True)
    (folder / "proc/self").mkdir(parents=True)
    (folder / "proc/meminfo").write_text("MemTotal: 4194304 kB\n")
    (folder / "proc/self/cgroup").write_text("4:memory:/a/b\n")
    (group / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    (group.parent / "memory.limit_in_bytes").write_text(f"{200 * MIB}\n")
    limiter = {"limit_percentage": 50, "spike_limit_percentage": 10, "root_path": str(folder)}
    with Sink() as sink, Relay(relay_config(sink, {"memory_limiter": limiter}), folder) as relay:
        assert relay.metric("profrelay_memory_limit_bytes") == 100 * MIB
        assert "above 83886080 nothing new is let in" in relay.wait_line("the memory limit is 104857600 bytes")


def test_the_smallest_limit_counts(folder):
    limiters = {"memory_limiter": {"limit_mib": 100}, "memory_limiter/b": {"limit_mib": 50}}
    with Sink() as sink, Relay(relay_config(sink, limiters), folder) as relay:
        assert relay.metric("profrelay_memory_limit_bytes") == 50 * MIB
        relay.wait_line("this one 104857600: the smaller counts")
    with Sink() as sink, Relay(relay_config(sink, limiters, memory_limit="30MiB"), folder) as relay:
        assert relay.metric("profrelay_memory_limit_bytes") == 30 * MIB
        assert len(relay.log("the smaller counts")) == 2


def test_validate(folder):
    with Sink() as sink:
        (folder / "a.yaml").write_text(relay_config(sink, {"memory_limiter": {"limit_mib": 10, "spike_limit_mib": 11}}))
        (folder / "b.yaml").write_text(relay_config(sink, {"memory_limiter": {"check_interval": "1s"}}))
        for name, said in (("a", "spike_limit_mib: must be smaller than limit_mib"),
                           ("b", "limit_mib or limit_percentage must be greater than 0")):
            done = run("validate", "--config", folder / f"{name}.yaml")
            assert done.returncode == 1 and said in done.stderr, done.stderr
