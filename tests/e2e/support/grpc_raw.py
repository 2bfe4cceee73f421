# SPDX-License-Identifier: Apache-2.0
"""gRPC over HTTP/2 frames written by hand: calls that are left open, and those that no decent client makes."""
import socket
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4

WATCH = "/grpc.health.v1.Health/Watch"
REFLECT = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"


def message(payload=b""):
    return struct.pack(">BI", 0, len(payload)) + payload


def _literal(index, value):
    """A header whose name is in HPACK's static table, its value not indexed."""
    return bytes([index, len(value)]) + value.encode()


def head(path, headers=()):
    """POST http, authority h, content-type application/grpc, and more as pairs of short texts."""
    more = b"".join(b"\0" + bytes([len(k)]) + k.encode() + bytes([len(v)]) + v.encode() for k, v in headers)
    return b"\x83\x86" + _literal(4, path) + _literal(1, "h") + b"\x0f\x10" + bytes([len("application/grpc")]) + b"application/grpc" + more


class Connection:
    """window: how much of each answer the server may send unasked."""

    def __init__(self, port, window=65535, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.next_id, self.data, self.ended = 1, {}, set()
        self.buffer, self.goaways, self.resets = b"", 0, {}
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.frame(SETTINGS, 0, 0, struct.pack(">HI", 4, window))

    def close(self):
        self.socket.close()

    def frame(self, kind, flags, stream, payload=b""):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)

    def call(self, path, body=b"", end=True, headers=()):
        stream, self.next_id = self.next_id, self.next_id + 2
        self.data[stream] = bytearray()
        self.frame(HEADERS, END_HEADERS, stream, head(path, headers))
        if body or end:
            self.frame(DATA, END_STREAM if end else 0, stream, body)
        return stream

    def read_frame(self):
        """False at the end of the connection."""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                return False
            self.buffer += more
        length = int.from_bytes(self.buffer[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
        payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
        self._take(kind, flags, stream, payload)
        return True

    def _take(self, kind, flags, stream, payload):
        if kind == DATA:
            self.data[stream] += payload
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.ended.add(stream)
        if kind == RST_STREAM:
            self.resets[stream] = int.from_bytes(payload, "big")
        self.goaways += kind == GOAWAY
        if kind in (SETTINGS, PING) and not flags & ACK:
            self.frame(kind, ACK, 0, payload if kind == PING else b"")

    def read_until(self, done):
        while not done(self):
            assert self.read_frame(), "the connection has ended"

    def read_to_end(self):
        while self.read_frame():
            pass
