# SPDX-License-Identifier: Apache-2.0
"""Requests to Pyroscope's /ingest, taken apart."""
import email
import email.message
import urllib.parse
from dataclasses import dataclass

from support.sink import Gone, Reader


@dataclass
class Upload:
    path: str
    headers: dict  # names in lower case
    body: bytes

    @property
    def query(self):
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True))

    @property
    def name(self):
        return self.query.get("name", "")

    @property
    def service(self):
        return self.name.partition("{")[0]

    @property
    def labels(self):
        inner = self.name.partition("{")[2].rstrip("}")
        return dict(pair.split("=", 1) for pair in inner.split(",") if pair)

    @property
    def from_(self):
        return self.query.get("from")

    @property
    def until(self):
        return self.query.get("until")

    @property
    def parts(self):
        """{name: bytes} of a form."""
        return form_parts(self.headers.get("content-type", ""), self.body)

    def summary(self):
        return f"{self.from_}-{self.until} {({k: len(v) for k, v in self.parts.items()})}"


def form_parts(content_type, body):
    header = email.message.Message()
    header["Content-Type"] = content_type
    boundary = header.get_boundary()
    out = {}
    for part in body.split(b"--" + boundary.encode())[1:-1] if boundary else []:
        head, _, content = part.partition(b"\r\n\r\n")
        disposition = email.message_from_bytes(head.lstrip(b"\r\n"))
        out[disposition.get_param("name", header="content-disposition")] = content.removesuffix(b"\r\n")
    return out


class _Stream:
    """Bytes that were kept, as a connection to read from."""

    def __init__(self, data):
        self.data = data

    def recv(self, _):
        data, self.data = self.data, b""
        return data


def uploads_of(stream):
    """The whole requests of a connection."""
    reader, out = Reader(_Stream(stream)), []
    try:
        while True:
            lines = reader.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
            out.append(Upload(lines[0].split(" ")[1], headers, reader.body(headers)))
    except Gone:
        return out
