# SPDX-License-Identifier: Apache-2.0
"""Strangers on the network: whatever they send, memory and CPU stay bounded and others are served meanwhile."""
import contextlib
import http.client
import os
import re
import socket
import struct
import threading
import time
import zlib
from pathlib import Path

from support import http2
from support.http2 import CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, PING, RST_STREAM, SETTINGS, Peer, frame
from support.process import Relay, config

MIB = 1 << 20
PATH = "/v1development/profiles"
LIMIT_MIB = 32
# Of one attack. The program may be one with sanitizers, and others may use the machine.
GROWTH_BYTES, CPU_SECONDS = 160 * MIB, 8.0
SLOWEST_ANSWER, USUAL_ANSWER = 5.0, 1.0
TIMES = {"read_header_timeout": "1s", "read_timeout": "1s", "write_timeout": "1s", "idle_timeout": "1s"}
EMPTY = b"\x0a\x00"  # one resource without profiles


def start(folder, **protocol):
    both = {"endpoint": "127.0.0.1:0", **TIMES, **protocol}
    receiver = {"protocols": {"grpc": {**both, "max_recv_msg_size_mib": 8}, "http": {**both, "max_request_body_size": "8MiB"}}}
    return Relay(config(receivers={"otlp": receiver}, exporters={"nop": {}},
                        service={"memory_limit": f"{LIMIT_MIB}MiB", "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["nop"]}}}),
                 folder)


def port(relay, protocol):
    return int(re.search(r"port (\d+)", relay.wait_line(f"OTLP/{protocol} at .*port"))[1])


def _ask_http(relay):
    connection = http.client.HTTPConnection("127.0.0.1", port(relay, "HTTP"), timeout=30)
    connection.request("POST", PATH, EMPTY, {"Content-Type": "application/x-protobuf"})
    status = connection.getresponse().status
    connection.close()
    return True if status == 200 else "busy" if status in (429, 503) else status


def _ask_grpc(relay):
    peer = Peer(port(relay, "gRPC"))
    peer.send(http2.request(1, EMPTY))
    good = peer.answer(1)
    peer.close()
    return "busy" if good is False else good


class Bystander:
    """Decent clients that go on sending, what is refused for now again and again. An ask is a function of the relay: True,
    "busy", or what is wrong."""

    def __init__(self, relay, *asks):
        self.relay, self.stop, self.times, self.failures = relay, threading.Event(), [], []
        self.threads = [threading.Thread(target=self._run, args=(f,), daemon=True) for f in asks]

    def _run(self, ask):
        while not self.stop.is_set():
            begin = time.monotonic()
            try:
                while (good := ask(self.relay)) == "busy" and not self.stop.wait(0.02):
                    pass
            except OSError as e:
                good = e
            if good == "busy" and self.stop.is_set():
                break
            self.times.append(time.monotonic() - begin)
            if good is not True:
                self.failures.append((ask.__name__, good))
            self.stop.wait(0.02)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, kind, *_):
        self.stop.set()
        for t in self.threads:
            t.join()
        if kind is None:
            assert not self.failures, self.failures[:3]
            assert len(self.times) >= 2
            assert max(self.times) < SLOWEST_ANSWER, max(self.times)
            assert sorted(self.times)[len(self.times) // 2] < USUAL_ANSWER, sorted(self.times)


def status_bytes(relay, key):
    return int(re.search(rf"^{key}:\s+(\d+) kB", Path(f"/proc/{relay.pid}/status").read_text(), re.MULTILINE)[1]) * 1024


def cpu_seconds(relay):
    fields = Path(f"/proc/{relay.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def bounded(relay, *asks):
    """With decent clients; at the end the relay has stayed within its bounds."""
    with Bystander(relay, *asks):
        Path(f"/proc/{relay.pid}/clear_refs").write_text("5")  # the peak begins anew
        memory, cpu, begin = status_bytes(relay, "VmRSS"), cpu_seconds(relay), time.monotonic()
        yield
        used, grown = cpu_seconds(relay) - cpu, status_bytes(relay, "VmHWM") - memory
    assert grown < GROWTH_BYTES, f"{grown / MIB:.0f} MiB more"
    assert used < CPU_SECONDS, f"{used:.1f} s of CPU in {time.monotonic() - begin:.1f} s"
    assert relay.metric("profrelay_memory_used_bytes") == 0


@contextlib.contextmanager
def attacked(folder, **protocol):
    with start(folder, **protocol) as relay, bounded(relay, _ask_http, _ask_grpc):
        yield relay


def connect(relay, protocol="HTTP"):
    return socket.create_connection(("127.0.0.1", port(relay, protocol)), 30)


def post_head(**headers):
    fields = {"Host": "localhost", "Content-Type": "application/x-protobuf", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return (f"POST {PATH} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())).encode()


def read_to_end(s):
    """All that comes until the peer closes or resets."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while data := s.recv(1 << 16):
            parts.append(data)
    return b"".join(parts)


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else None


def push(s, pieces):
    """Sends until the peer does not take it any more, reading nothing. How many bytes went."""
    sent = 0
    for piece in pieces:
        try:
            s.sendall(piece)
        except OSError:
            break
        sent += len(piece)
    return sent


def push_until_answered(s, piece, most_bytes):
    """Sends the piece again and again as long as no answer has come. How many bytes went, and the answer."""
    sent = 0
    s.setblocking(False)
    answer = b""
    with contextlib.suppress(ConnectionError):
        while sent < most_bytes and not answer:
            with contextlib.suppress(BlockingIOError):
                sent += s.send(piece[sent % len(piece):])
            with contextlib.suppress(BlockingIOError):
                answer = s.recv(1 << 16)
    s.settimeout(30)
    return sent, answer


# -- slow ones --


def drip(relay, protocol, first, piece, count=50, limit=12.0):
    """So many connections that bring a little all the time; all are ended by the peer before the limit."""
    sockets = [connect(relay, protocol) for _ in range(count)]
    for s in sockets:
        s.sendall(first)
        s.setblocking(False)
    end = time.monotonic() + limit
    while sockets:
        assert time.monotonic() < end, f"{len(sockets)} of {count} connections are still open"
        time.sleep(0.1)
        for s in list(sockets):
            try:
                while s.recv(1 << 16):
                    pass
                gone = True
            except BlockingIOError:
                gone = False
            except ConnectionError:
                gone = True
            if not gone and piece:
                with contextlib.suppress(OSError):
                    s.send(piece)
            if gone:
                s.close()
                sockets.remove(s)


def test_slow_headers(folder):
    with attacked(folder) as relay:
        drip(relay, "HTTP", post_head(), b"X")


def test_slow_headers_of_http2(folder):
    with attacked(folder) as relay:
        drip(relay, "gRPC", http2.PREFACE + http2.settings() + frame(HEADERS, 0, 1, http2.head()), frame(CONTINUATION, 0, 1)[:1])


def test_slow_bodies(folder):
    with attacked(folder) as relay:
        drip(relay, "HTTP", post_head(Content_Length="100000") + b"\r\n", b"X")


def test_slow_bodies_of_http2(folder):
    begin = http2.PREFACE + http2.settings() + frame(HEADERS, END_HEADERS, 1, http2.head())
    with attacked(folder) as relay:
        drip(relay, "gRPC", begin, frame(DATA, 0, 1, b"X"))


def test_silence(folder):
    with attacked(folder) as relay:
        drip(relay, "HTTP", b"", b"")
        drip(relay, "gRPC", b"", b"")
        drip(relay, "gRPC", http2.PREFACE + http2.settings(), b"")


# -- large ones --


def test_endless_bodies(folder):
    chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
    with attacked(folder) as relay:
        for _ in range(5):
            s = connect(relay)
            s.sendall(post_head(Transfer_Encoding="chunked") + b"\r\n")
            sent, answer = push_until_answered(s, chunk, 64 * MIB)
            assert status_of(answer) in (413, 503), answer[:100]
            assert sent < 32 * MIB, sent
            s.close()


def test_lengths_that_lie(folder):
    with attacked(folder) as relay:
        for length, body, wanted in (("1000000000000", b"", (413,)), ("99999999999999999999999", b"", (400,)), ("-1", b"", (400,)),
                                     ("10", b"", (400, None)), ("2", EMPTY + b"nonsense\r\n\r\n", (200, 400))):
            s = connect(relay)
            s.sendall(post_head(Content_Length=length) + b"\r\n" + body)
            s.shutdown(socket.SHUT_WR)
            answer = read_to_end(s)
            assert status_of(answer) in wanted, (length, answer[:200])
            s.close()


def gzip_bomb(total):
    """Blocks of zeros that end on a byte boundary, so that one of them can stand again and again."""
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    c.compress(bytes(MIB))
    c.flush(zlib.Z_FULL_FLUSH)
    block = c.compress(bytes(MIB)) + c.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + block * (total // MIB) + b"\x03\0" + bytes(8)


def zstd_bomb(total, declared=False):
    """Blocks of one byte repeated (RFC 8878 §3.1.1.2), 128 KiB each."""
    size = 128 << 10
    head = b"\xe0" + struct.pack("<Q", total) if declared else b"\0\x38"
    return b"\x28\xb5\x2f\xfd" + head + (struct.pack("<I", size << 3 | 2)[:3] + b"\0") * (total // size) + b"\1\0\0"


def test_bombs(folder):
    total = 10 << 30
    bombs = [("gzip", gzip_bomb(total)[:7 * MIB]), ("zstd", zstd_bomb(total)), ("zstd", zstd_bomb(total, True))]
    with attacked(folder) as relay:
        for encoding, bomb in bombs:
            s = connect(relay)
            s.sendall(post_head(Content_Encoding=encoding, Content_Length=str(len(bomb)), Connection="close") + b"\r\n" + bomb)
            answer = read_to_end(s)
            assert status_of(answer) in (413, 503), (encoding, answer[:200])
            s.close()
            if len(bomb) < 512 << 10:  # within a stream's window
                peer = Peer(port(relay, "gRPC"))
                peer.send(http2.request(1, bomb, True, grpc_encoding=encoding))
                assert peer.answer(1) is False
                peer.close()


def test_many_headers(folder):
    with attacked(folder) as relay:
        for lines in (b"".join(b"X-%d: y\r\n" % i for i in range(20000)), b"X: " + bytes([120]) * MIB + b"\r\n", b"Y" * MIB):
            s = connect(relay)
            push(s, [post_head(), lines, b"\r\n"])
            assert status_of(read_to_end(s)) in (431, None)  # a reset may overtake the answer
            s.close()
        s = connect(relay)
        push(s, [b"GET /" + b"a" * MIB])
        assert status_of(read_to_end(s)) in (414, 431, 400, None)
        s.close()


# -- HTTP/2 --


def test_header_bomb(folder):
    """A large entry of the table, named again and again: 64 MB of headers in 20 KB."""
    entry = http2.literal("x", "y" * 4000, first=0x40)
    with attacked(folder) as relay:
        for _ in range(5):
            peer = Peer(port(relay, "gRPC"))
            block = http2.head() + entry + b"\xbe" * 16000
            peer.send(frame(HEADERS, 0, 1, block[:16000]) + frame(CONTINUATION, END_HEADERS, 1, block[16000:]))
            assert peer.answer(1) is not True
            peer.close()


def test_continuations_without_end(folder):
    begin, large = frame(HEADERS, 0, 1, http2.head()), frame(CONTINUATION, 0, 1, http2.literal("x", "y" * 1000))
    with attacked(folder) as relay:
        for piece in large, frame(CONTINUATION, 0, 1):
            flood(relay, lambda id, p=piece: begin if id == 1 else p, codes=None)


def flood(relay, unit, most=60000, codes=(ENHANCE_YOUR_CALM,), at_once=500, settles=False):
    """Sends a frame or two again and again until the peer has said that it ends the connection, as it must in the end: a
    busy one may find all of them in the buffers of the kernel. settles: waits for the last stream's end before it goes on,
    so that no more are open than may be."""
    peer = Peer(port(relay, "gRPC"))
    for i in range(0, most, at_once):
        sent = peer.send(b"".join(unit(2 * n + 1) for n in range(i, i + at_once)))
        if sent and settles:
            peer.answer(2 * (i + at_once) - 1)
        if not sent or peer.has_ended():
            break
    code = peer.end_code()  # fails when none comes
    assert codes is None or code in (*codes, -1), code  # a reset may overtake it
    peer.close()


def test_rapid_reset(folder):
    head, cancel = http2.head(), struct.pack(">I", 8)
    with attacked(folder) as relay:
        for _ in range(3):
            flood(relay, lambda id: frame(HEADERS, END_HEADERS, id, head) + frame(RST_STREAM, 0, id, cancel))


def test_made_to_reset(folder):
    """Faults for which the peer must reset the stream: a window that overflows."""
    head = http2.head()
    with attacked(folder) as relay:
        flood(relay, lambda id: frame(HEADERS, END_HEADERS, id, head) + frame(http2.WINDOW_UPDATE, 0, id, b"\x7f\xff\xff\xff"),
              at_once=100, settles=True)


def test_control_floods(folder):
    with attacked(folder) as relay:
        flood(relay, lambda _: frame(PING, 0, 0, bytes(8)))
        flood(relay, lambda _: frame(SETTINGS, 0, 0))
        flood(relay, lambda _: frame(SETTINGS, 0, 0, struct.pack(">HI", http2.INITIAL_WINDOW, 65535)))
        flood(relay, lambda _: frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)))


def test_empty_data(folder):
    begin = frame(HEADERS, END_HEADERS, 1, http2.head())
    with attacked(folder) as relay:
        flood(relay, lambda id: (begin if id == 1 else b"") + frame(DATA, 0, 1))


def test_windows_of_nothing(folder):
    """Clients that ask and never make room for the answers: each is let go, none keeps memory."""
    with attacked(folder) as relay:
        peers = [Peer(port(relay, "gRPC"), initial_window=0) for _ in range(20)]
        for peer in peers:
            peer.send(b"".join(http2.request(2 * i + 1, EMPTY) for i in range(200)))
        for peer in peers:
            resets = 0
            while resets < 200 and (got := peer.receive()):
                resets += got[0] == RST_STREAM
                if got[0] == HEADERS and got[1] & END_STREAM:
                    resets += 1
            assert resets == 200, resets
            peer.close()


def test_answers_that_nobody_reads(folder):
    """Requests without end on sockets that are never read: the peer stops reading, then closes."""
    with attacked(folder) as relay:
        for one in (b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n" * 1000, ):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", port(relay, "HTTP")))
            s.settimeout(20)
            sent = push(s, (one for _ in range(3000)))
            assert sent < 64 * MIB, sent
            s.close()


def test_connections_that_only_come(folder):
    """More of them than are allowed: idle ones make room for those who want something."""
    with attacked(folder, max_connections=20, idle_timeout="1m") as relay:
        kept = []
        for _ in range(200):
            s = connect(relay)
            s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            kept.append(s)
        for s in kept:
            s.close()
