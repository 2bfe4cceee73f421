# SPDX-License-Identifier: Apache-2.0
"""An OTLP/HTTP server that does as it is told: answer, refuse, hang, cut, be slow, be gone."""
import gzip
import socket
import struct
import subprocess
import threading
import time
from dataclasses import dataclass, field

TIMEOUT = 30.0


@dataclass
class Behaviour:
    """What one request meets. Use the functions below to make one."""
    status: int = 200
    headers: dict = field(default_factory=dict)
    body: bytes = b""
    hold: bool = False  # answer only after release()
    cut: str = ""  # "headers": cut before the body is read; "body": after it, without an answer
    delay: float = 0.0  # seconds before the answer


def ok():
    return Behaviour()


def status(code, message="told to answer so", **headers):
    """Header names are written with _ for -."""
    names = {k.replace("_", "-"): str(v) for k, v in headers.items()}
    return Behaviour(status=code, headers=names, body=b"\x12" + bytes([len(message)]) + message.encode())


def partial(rejected, message="told to reject them"):
    inner = b"\x08" + bytes([rejected]) + b"\x12" + bytes([len(message)]) + message.encode()
    return Behaviour(body=b"\x0a" + bytes([len(inner)]) + inner)


def hold():
    return Behaviour(hold=True)


def cut_before_body():
    return Behaviour(cut="headers")


def cut_after_body():
    return Behaviour(cut="body")


def slow(seconds):
    return Behaviour(delay=seconds)


@dataclass
class Request:
    method: str
    path: str
    headers: dict  # names in lower case
    raw: bytes
    behaviour: Behaviour
    time: float  # time.monotonic() of arrival
    answered: bool = False

    @property
    def accepted(self):
        return self.answered and self.behaviour.status == 200

    @property
    def body(self):
        return inflate(self.headers.get("content-encoding", "identity"), self.raw)


def inflate(encoding, raw):
    if encoding == "gzip":
        return gzip.decompress(raw)
    if encoding == "zstd":
        return subprocess.run(["zstd", "-dcq"], input=raw, stdout=subprocess.PIPE, check=True).stdout
    if encoding == "identity":
        return raw
    raise ValueError(f"content-encoding {encoding!r}")


class Gone(Exception):
    """The peer closed or cut the connection."""


class Reader:
    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def more(self):
        data = self.connection.recv(1 << 16)
        if not data:
            raise Gone
        self.buffer += data

    def until(self, mark):
        while mark not in self.buffer:
            self.more()
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def exactly(self, count):
        parts, have = [self.buffer], len(self.buffer)
        while have < count:
            data = self.connection.recv(1 << 16)
            if not data:
                raise Gone
            parts.append(data)
            have += len(data)
        data = b"".join(parts)
        self.buffer = data[count:]
        return data[:count]

    def body(self, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.until(b"\r\n").split(b";")[0], 16):
                parts.append(self.exactly(size))
                self.exactly(2)
            self.until(b"\r\n")
            return b"".join(parts)
        return self.exactly(int(headers.get("content-length", "0")))


class Sink:
    """with Sink() as sink: ... sink.endpoint ...; everything is guarded by one condition.

    tls: an ssl.SSLContext to serve with. judge: what a request's headers meet, instead of what behave() says, or None;
    judge_whole: the same of a Request with its body.
    """

    def __init__(self, tls=None, judge=None, judge_whole=None):
        self.tls, self.judge, self.judge_whole = tls, judge, judge_whole
        self.changed = threading.Condition()
        self.requests = []
        self.default = ok()
        self.script = []  # for the next requests, one each, before the default
        self.connections = set()
        self.holding = 0
        self._released = 0
        self._listener = None
        self.port = 0
        self._listen()

    # -- what the test says --

    @property
    def endpoint(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def behave(self, default=None, script=()):
        """Sets what all following requests meet (default) after the first few (script)."""
        with self.changed:
            self.default = default or ok()
            self.script = list(script)

    def release(self):
        """Lets all requests that are held now be answered."""
        with self.changed:
            self._released += 1
            self.changed.notify_all()

    def refuse(self):
        """Nobody listens any more; open connections are reset."""
        listener, self._listener = self._listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut_connections()

    def accept_again(self):
        """Listens again, on the same port."""
        self._listen()

    def cut_connections(self):
        with self.changed:
            connections = list(self.connections)
        for c in connections:
            reset(c)

    # -- what the test asks --

    def accepted(self):
        """The bodies that were answered with success so far, inflated."""
        with self.changed:
            done = [r for r in self.requests if r.accepted]
        return [r.body for r in done]

    def count(self, accept=lambda r: True):
        with self.changed:
            return sum(1 for r in self.requests if accept(r))

    def wait(self, condition, what, timeout=TIMEOUT):
        """Blocks until condition(sink) holds; it is asked again whenever something happened."""
        end = time.monotonic() + timeout
        with self.changed:
            while not condition(self):
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"sink: not within {timeout:.1f} s: {what} ({len(self.requests)} requests came, "
                                         f"{sum(r.accepted for r in self.requests)} accepted)")
                self.changed.wait(left)

    def wait_accepted(self, count, timeout=TIMEOUT):
        self.wait(lambda s: sum(r.accepted for r in s.requests) >= count, f"{count} accepted requests", timeout)

    def wait_requests(self, count, timeout=TIMEOUT):
        self.wait(lambda s: len(s.requests) >= count, f"{count} requests", timeout)

    # -- machinery --

    def _listen(self):
        self._listener = listen(self.port)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.changed:
                self.connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, raw):
        connection = raw
        try:
            if self.tls:
                connection = self.tls.wrap_socket(raw, server_side=True)
            reader = Reader(connection)
            while self._one(connection, reader):
                pass
        except (Gone, OSError):
            pass
        finally:
            with self.changed:
                self.connections.discard(raw)
                self.changed.notify_all()
            connection.close()

    def _next(self, headers):
        judged = self.judge(headers) if self.judge else None
        with self.changed:
            return judged or (self.script.pop(0) if self.script else self.default)

    def _one(self, connection, reader):
        lines = reader.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        behaviour = self._next(headers)
        request = Request(method, path, headers, b"", behaviour, time.monotonic())
        if behaviour.cut == "headers":
            self._note(request)
            reset(connection)
            return False
        if headers.get("expect", "").lower() == "100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.raw = reader.body(headers)
        if self.judge_whole:
            behaviour = request.behaviour = self.judge_whole(request) or behaviour
        self._note(request)
        if behaviour.cut == "body":
            reset(connection)
            return False
        self._linger(behaviour)
        if (behaviour.hold or behaviour.delay) and _peer_is_gone(connection):
            return False
        with self.changed:  # whoever has the answer finds it counted
            connection.sendall(_answer(behaviour))
            request.answered = True
            self.changed.notify_all()
        return headers.get("connection", "").lower() != "close"

    def _note(self, request):
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()

    def _linger(self, behaviour):
        with self.changed:
            if behaviour.hold:
                seen = self._released
                self.holding += 1
                self.changed.notify_all()
                self.changed.wait_for(lambda: self._released > seen)
                self.holding -= 1
            if behaviour.delay:
                end = time.monotonic() + behaviour.delay
                self.changed.wait_for(lambda: time.monotonic() >= end, behaviour.delay)

    def close(self):
        self.refuse()
        self.release()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def listen(port):
    """A socket that does, on loopback; 0 = any port."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


def _answer(b):
    headers = {"Content-Type": "application/x-protobuf", "Content-Length": str(len(b.body)), **b.headers}
    head = f"HTTP/1.1 {b.status} Told\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
    return head.encode() + b.body


def _peer_is_gone(connection):
    """Whoever waited in vain and left must not count as answered."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def reset(connection):
    """Cuts it, so that the peer notices."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RD)  # wakes a thread that is reading
        connection.close()
    except OSError:
        pass
