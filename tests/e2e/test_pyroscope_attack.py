# SPDX-License-Identifier: Apache-2.0
"""Strangers who know what Pyroscope's clients send: whatever they make of it, memory and CPU stay bounded and others are
served meanwhile. What they can do to HTTP itself is in test_otlp_attack.py."""
import contextlib
import gzip
import http.client
import json
import random
import re
import socket
import struct

from support import pprof_make, pyroscope, sink
from support.pprof_make import block
from support.process import Relay, config
from support.setup import otlp_exporter
from support.sink import Sink
from test_otlp_attack import MIB, bounded, read_to_end, status_bytes

BODY_MIB, LIMIT_MIB = 12, 64
SPEEDSCOPE = b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":['
ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def ask(relay):
    connection = http.client.HTTPConnection("127.0.0.1", pyroscope.port(relay, "pyroscope"), timeout=30)
    connection.request("POST", "//ingest?name=decent&format=folded", b"main;work 1\n")
    status = connection.getresponse().status
    connection.close()
    return True if status == 200 else "busy" if status in (429, 503) else status


@contextlib.contextmanager
def running(folder, exporter=None):
    receiver = {"endpoint": "127.0.0.1:0", "max_request_body_size": f"{BODY_MIB}MiB", "jfr": "pass"}
    exporters = {"otlp_http": exporter} if exporter else {"nop": {}}
    text = config(receivers={"pyroscope": receiver}, exporters=exporters,
                  service={"memory_limit": f"{LIMIT_MIB}MiB",
                           "pipelines": {"profiles": {"receivers": ["pyroscope"], "exporters": list(exporters)}}})
    with Relay(text, folder) as relay:
        yield relay


@contextlib.contextmanager
def attacked(folder):
    with running(folder) as relay, bounded(relay, ask):
        yield relay


def request(path, body, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def send(relay, path, body, *headers):
    """(status, headers, body); headers are whole lines."""
    return pyroscope.exchange(pyroscope.port(relay, "pyroscope"), request(path, body, *headers))


def ingest(relay, body, query, *headers):
    return send(relay, "/ingest?name=app&" + query, body, *headers)


def push(relay, body, kind, *headers):
    return send(relay, pyroscope.PUSH, body, f"Content-Type: {kind}", *headers)


def filled(piece, begin=b"", end=b""):
    return begin + piece * (((BODY_MIB - 1) * MIB - len(begin) - len(end)) // len(piece)) + end


def refuse(folder, bombs):
    """A few KB each that become as much as is allowed, of pieces that take many times their size in memory."""
    with attacked(folder) as relay:
        for name, bomb in bombs:
            status, _, body = ingest(relay, gzip.compress(bomb, 6), f"format={name}", "Content-Encoding: gzip")
            assert status in (413, 422, 503), (name, bomb[-8:], status, body)


def test_bombs_of_pprof(folder):
    types = block(1, b"\x08\x01\x10\x02") + block(6, b"") + block(6, b"samples") + block(6, b"count")
    refuse(folder, [("pprof", filled(piece, types)) for piece in (b"\x32\0", b"\x68\x01", b"\x2a\0", b"\x12\x02\x10\x01")])


def test_bombs_of_other_formats(folder):
    one = b'{"type":"sampled","name":"a","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}'
    refuse(folder, [("tree", filled(b"\x01a\0\x02", b"\0\0\x02")), ("trie", filled(b"\x02;a\x01\x01", b"\0\0\x01")),
                    ("speedscope", filled(one + b",", SPEEDSCOPE + b'{"name":"a"}]},"profiles":[', one + b"]}"))])


def test_bombs_of_push(folder):
    with attacked(folder) as relay:
        for kind, bomb in (("json", filled(b"{},", b'{"series":[', b"{}]}")), ("proto", filled(b"\x0a\0"))):
            status, _, body = push(relay, gzip.compress(bomb, 6), f"application/{kind}", "Content-Encoding: gzip")
            assert status in (400, 413, 503), (kind, status, body)


def test_what_could_take_long(folder):
    """Each took minutes where the same bytes are looked at again and again."""
    boundary = "Content-Type: multipart/form-data; boundary=x"
    disposition = b"--x\r\nContent-Disposition: form-data" + b";a=" * MIB + b" " * (6 * MIB)
    long_type = block(6, b"c" * (8 * MIB))
    profile = b"".join(block(1, b"\x08\x01\x10\x02") for _ in range(64)) + block(6, b"") + long_type + block(6, b"count")
    with attacked(folder) as relay:
        assert ingest(relay, disposition + b"\r\n\r\nx\r\n--x--\r\n", "format=", boundary)[0] == 200  # no part `profile`
        assert ingest(relay, b"--x\r\n" * MIB, "format=", boundary)[0] == 422
        assert ingest(relay, b"--x\r\n\r\n\r\n" * 1000 + b"--x--", "format=", boundary)[0] == 413
        assert ingest(relay, gzip.compress(profile), "format=pprof")[0] in (200, 413, 422)
        assert send(relay, "/" * 4000 + "ingest?name=a", b"a 1\n")[0] == 200
        assert send(relay, "/ingest?name=a{" + "b=c," * 2000 + "}", b"a 1\n")[0] == 400


def test_frames_that_lie(folder):
    sent = [b"", b"\0", struct.pack(">BI", 0, 5) + b"abc", struct.pack(">BI", 1, 3) + b"abc", struct.pack(">BI", 0x80, 0),
            struct.pack(">BI", 0, 1 << 31), struct.pack(">BI", 0, 0) * 1000, struct.pack(">BI", 2, 0)]
    with running(folder) as relay:
        for kind in ("application/grpc", "application/grpc-web", "application/grpc-web+json"):
            for body in sent:
                s = socket.create_connection(("127.0.0.1", pyroscope.port(relay, "pyroscope")), 30)
                s.sendall(request(pyroscope.PUSH, body, f"Content-Type: {kind}"))
                answer = read_to_end(s).lower()
                s.close()
                assert answer.startswith(b"http/1.1 200 "), (kind, body[:9], answer)
                code = re.search(rb"grpc-status: (\d+)\r\n", answer)
                assert code and code[1] != b"0", (kind, body[:9], answer)


def test_nothing_of_a_stranger_reaches_the_terminal(folder):
    red = "%1b[31m%0a%00"
    with running(folder) as relay:
        for path, body, headers in (
                (f"/ingest?name={red}app&format=folded", b"a 1\n", ()),
                (f"/ingest?name=app{{a=1,b{red}=2}}", b"a 1\n", ()),
                (f"/ingest?name=app&format=pprof&spyName={red}", b"\x1b[31m\r\n not a pprof", ("User-Agent: \x1b[31m",)),
                (f"/ingest?name=app&format={red}", b"\x1b]0;x\x07\xff", ()),
                ("/ingest?name=app", b"--\x1b\r\n\r\n", ("Content-Type: multipart/form-data; boundary=\x1b[31m",)),
                ("/\x1b[31m/ingest", b"", ()),
                (pyroscope.PUSH, block(1, block(1, block(1, b"\x1b[31m") + block(2, b"x")) + block(2, block(1, b"\x1b[31m"))),
                 ("Content-Type: application/proto",))):
            s = socket.create_connection(("127.0.0.1", pyroscope.port(relay, "pyroscope")), 30)
            s.sendall(request(path, body, *headers))
            answer = read_to_end(s)
            s.close()
            assert re.match(rb"HTTP/1.1 4\d\d ", answer), (path, answer)
            text = answer.partition(b"\r\n\r\n")[2].decode()
            assert not ESCAPES.search(text), text
            if b"application/json" in answer:
                assert json.loads(text)["message"]
        assert not any(ESCAPES.search(line) for line in relay.log(""))


def test_bodies_do_not_wait_for_upstream(folder):
    """What waits is the profile, not the form with its preamble that brought it."""
    head = b"x" * (8 * MIB) + b"\r\n--x\r\nContent-Disposition: form-data; name=profile\r\n\r\n"
    with Sink() as s, running(folder, otlp_exporter(s)) as relay:
        s.behave(sink.hold())
        before = status_bytes(relay, "VmRSS")
        for i in range(20):
            form = head + pprof_make.make(seed=i) + b"\r\n--x--\r\n"
            status, _, body = ingest(relay, form, "format=", "Content-Type: multipart/form-data; boundary=x")
            assert status == 200, (i, status, body)
        grown = status_bytes(relay, "VmRSS") - before
        s.behave()
        s.release()
        s.wait_accepted(20)
        assert grown < 100 * MIB, f"{grown / MIB:.0f} MiB more"


def test_damaged_requests(folder):
    """Seeded; the sanitizers judge."""
    rng = random.Random(7)
    profile = pprof_make.make(seed=1)
    form = b'--x\r\nContent-Disposition: form-data; name="profile"; filename="p"\r\n\r\n' + profile + b"\r\n--x--\r\n"
    pushed = block(1, block(1, block(1, b"service_name") + block(2, b"app")) + block(2, block(1, profile)))
    whole = [request("/ingest?name=app{a=b}&from=1&until=now-1h&sampleRate=100", form, "Content-Type: multipart/form-data; boundary=x"),
             request("/ingest?name=app&format=trie", b"\0\0\1\2ab\0\2\1c\1\0\1d\2\0"),
             request(pyroscope.PUSH, pushed, "Content-Type: application/proto"),
             request(pyroscope.PUSH, struct.pack(">BI", 0, len(pushed)) + pushed, "Content-Type: application/grpc-web+proto")]
    with running(folder) as relay:
        for _ in range(300):
            data = bytearray(rng.choice(whole))
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(data))
                data[at:at + rng.choice((0, 1, 4))] = rng.randbytes(rng.choice((0, 1, 4)))
            s = socket.create_connection(("127.0.0.1", pyroscope.port(relay, "pyroscope")), 30)
            with contextlib.suppress(ConnectionError):
                s.sendall(data[:rng.randrange(len(data))] if rng.random() < 0.2 else data)
                if rng.random() < 0.5:
                    s.shutdown(socket.SHUT_WR)
                    read_to_end(s)
            s.close()
        assert ask(relay) is True
