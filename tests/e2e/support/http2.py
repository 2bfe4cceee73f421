# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand, for clients that do what no library would: frames on a socket, headers that are never indexed."""
import select
import socket
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
TABLE_SIZE, INITIAL_WINDOW = 1, 4
ENHANCE_YOUR_CALM = 11
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EXPORT = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload) << 8 | kind) + struct.pack(">BI", flags, stream) + payload


def settings(**values):
    names = {"table_size": TABLE_SIZE, "initial_window": INITIAL_WINDOW}
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", names[k], v) for k, v in values.items()))


def number(prefix_bits, first, value):
    """An integer of HPACK (RFC 7541 §5.1)."""
    most = (1 << prefix_bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value % 128 | 128)
        value //= 128
    return bytes(out + [value])


def literal(name, value, first=0):
    """first 0x40 puts it into the dynamic table."""
    return bytes([first]) + number(7, 0, len(name)) + name.encode() + number(7, 0, len(value)) + value.encode()


def head(path=EXPORT, content_type="application/grpc", **more):
    """The block of a POST; _ in names is -."""
    block = b"\x83\x86" + literal(":path", path) + literal(":authority", "localhost")
    fields = {"content_type": content_type, "te": "trailers", **more}
    return block + b"".join(literal(k.replace("_", "-"), v) for k, v in fields.items())


def message(payload=b"", compressed=False):
    return struct.pack(">BI", compressed, len(payload)) + payload


def request(stream, payload=b"", compressed=False, **headers):
    """A whole gRPC request in frames."""
    body = message(payload, compressed)
    pieces = [body[i:i + 16384] for i in range(0, len(body), 16384)]
    out = frame(HEADERS, END_HEADERS, stream, head(**headers))
    return out + b"".join(frame(DATA, END_STREAM if i == len(pieces) - 1 else 0, stream, p) for i, p in enumerate(pieces))


def connect(port, timeout):
    """port: or the path of a Unix socket."""
    if isinstance(port, int):
        connection = socket.create_connection(("127.0.0.1", port), timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    connection.connect(str(port))
    return connection


class Peer:
    """A connection that has said hello. Frames come as (type, flags, stream, payload); None at the end."""

    def __init__(self, port, timeout=30.0, **options):
        self.socket = connect(port, timeout)
        self.buffer = b""
        self.code = -1  # of the last GOAWAY
        self.socket.sendall(PREFACE + settings(table_size=0, **options))

    def send(self, data):
        """False when the peer has closed."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def _fill(self, count):
        while len(self.buffer) < count:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                return False
            self.buffer += data
        return True

    def receive(self):
        if not self._fill(9):
            return None
        size = int.from_bytes(self.buffer[:3], "big")
        if not self._fill(9 + size):
            return None
        kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
        payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK, 0))
        if kind == GOAWAY:
            self.code = int.from_bytes(payload[4:8], "big")
        return kind, flags, stream, payload

    def answer(self, stream):
        """Waits for the end of a stream: True if it says grpc-status 0, False for another, None if it was reset."""
        while got := self.receive():
            kind, flags, of, payload = got
            if of == stream and kind == HEADERS and flags & END_STREAM:
                return payload.endswith(b"\x01\x30")
            if of == stream and kind == RST_STREAM:
                return None
        return None

    def has_ended(self):
        """Whether a GOAWAY or the end is among what has come; does not wait."""
        while select.select([self.socket], [], [], 0)[0]:
            if self.receive() is None or self.code >= 0:
                return True
        return False

    def end_code(self):
        """Reads to the end of the connection: the error of the last GOAWAY, -1 without one."""
        while self.receive():
            pass
        return self.code

    def close(self):
        self.socket.close()
