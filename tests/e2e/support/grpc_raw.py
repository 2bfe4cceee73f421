# SPDX-License-Identifier: Apache-2.0
"""gRPC over HTTP/2 frames written by hand: calls that are left open, and those that no decent client makes."""
from support import http2
from support.http2 import ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, message

WATCH = "/grpc.health.v1.Health/Watch"
REFLECT = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

__all__ = ["Connection", "REFLECT", "WATCH", "message"]


class Connection(http2.Peer):
    """window: how much of each answer the server may send unasked."""

    def __init__(self, port, window=65535, timeout=60):
        super().__init__(port, timeout, initial_window=window)
        self.next_id, self.data, self.ended = 1, {}, set()
        self.goaways, self.resets = 0, {}

    def frame(self, kind, flags, stream, payload=b""):
        self.socket.sendall(http2.frame(kind, flags, stream, payload))

    def call(self, path, body=b"", end=True, headers=()):
        """headers: more of them, as pairs; a name may come again."""
        stream, self.next_id = self.next_id, self.next_id + 2
        self.data[stream] = bytearray()
        self.frame(HEADERS, END_HEADERS, stream, http2.head(path) + b"".join(http2.literal(k, v) for k, v in headers))
        if body or end:
            self.frame(DATA, END_STREAM if end else 0, stream, body)
        return stream

    def read_frame(self):
        """False at the end of the connection."""
        got = self.receive()
        if got is not None:
            self._take(*got)
        return got is not None

    def _take(self, kind, flags, stream, payload):
        if kind == DATA:
            self.data[stream] += payload
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.ended.add(stream)
        if kind == RST_STREAM:
            self.resets[stream] = int.from_bytes(payload, "big")
        self.goaways += kind == GOAWAY
        if kind == PING and not flags & ACK:
            self.frame(PING, ACK, 0, payload)

    def read_until(self, done):
        while not done(self):
            assert self.read_frame(), "the connection has ended"

    def read_to_end(self):
        while self.read_frame():
            pass
