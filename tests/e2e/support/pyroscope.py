# SPDX-License-Identifier: Apache-2.0
"""profrelay as a Pyroscope server, requests to it as bytes, and the notes that docs/pyroscope-matrix.md is made of."""
import importlib.util
import re
import socket

from support import ROOT, Skip
from support.http2 import DATA, END_STREAM, HEADERS, RST_STREAM
from support.process import config

TOKENS = ["dummy-token-0001", "dummy-status200-token", "dummy-password"]
OWN_HEADER = "x-status200-token"
PUSH = "/push.v1.PusherService/Push"


def matrix():
    """tests/interop/pyroscope/matrix.py as a module."""
    path = ROOT / "tests" / "interop" / "pyroscope" / "matrix.py"
    spec = importlib.util.spec_from_file_location("pyroscope_matrix", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def receivers(**more):
    """Three: `open` to everybody, `token` to those with one of TOKENS, `tenant` to those with an X-Scope-OrgID."""
    common = {"endpoint": "127.0.0.1:0", "prefixes": ["/", "/pyroscope", "/v1/profiles/pyroscope", "/base"], **more}
    return {"pyroscope/open": common,
            "pyroscope/token": {**common, "auth": {"authenticator": "bearertokenauth"}},
            "pyroscope/tenant": {**common, "tenant": {"required": True, "attribute": "tenant"}}}


def relay_config(exporters, more_receivers=None, **more):
    named = {**receivers(**more), **(more_receivers or {})}
    return config(extensions={"bearertokenauth": {"header": OWN_HEADER, "scheme": "", "tokens": TOKENS}},
                  receivers=named, exporters=exporters,
                  service={"extensions": ["bearertokenauth"],
                           "pipelines": {"profiles": {"receivers": list(named), "exporters": list(exporters)}}})


def port(relay, name):
    return int(re.search(r"port (\d+)", relay.wait_line(rf"receiver/{name}\s.* at .*port \d+"))[1])


def credentials(headers):
    """(the receiver of such a request, the way in words); headers: pairs."""
    ways = []
    for name, value in headers:
        if name.lower() == "authorization":
            ways.append(value.split(" ")[0])
        elif name.lower() == OWN_HEADER:
            ways.append("own header")
    tenant = any(name.lower() == "x-scope-orgid" for name, _ in headers)
    receiver = "token" if ways else "tenant" if tenant else "open"
    return f"pyroscope/{receiver}", " + ".join(ways + ["X-Scope-OrgID"] * tenant) or "none"


def base_path(path):
    """What stood in the client's address behind host and port."""
    base = re.sub(r"(/ingest|/push\.v1\.PusherService/Push|/v1development/profiles)$", "", path.partition("?")[0])
    return base


def exchange(port_number, data):
    """(status, headers, body) of the one answer to these bytes; names of headers in lower case."""
    with socket.create_connection(("127.0.0.1", port_number), timeout=60) as connection:
        connection.sendall(data)
        with connection.makefile("rb") as answer:
            return read_answer(answer)


def read_answer(answer):
    status = int(answer.readline().split()[1])
    headers = {}
    while line := answer.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(answer.readline().split(b";")[0], 16):
            body += answer.read(size)
            answer.readline()
        while answer.readline().strip():
            pass
        return status, headers, body
    return status, headers, answer.read(int(headers.get("content-length", "0")))


def exchange_http2(port_number, data):
    """The data of the first stream's answer to these bytes of a whole connection."""
    with socket.create_connection(("127.0.0.1", port_number), timeout=60) as connection:
        connection.sendall(data)
        with connection.makefile("rb") as answer:
            out = b""
            while head := answer.read(9):
                payload = answer.read(int.from_bytes(head[:3], "big"))
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                assert kind != RST_STREAM, f"stream {stream} is reset: {payload.hex()}"
                if kind == DATA:
                    out += payload
                if kind in (DATA, HEADERS) and stream == 1 and flags & END_STREAM:
                    return out
    raise AssertionError("the connection ended before the answer")


def assert_matrix(kind):
    """docs/pyroscope-matrix.md says of that kind what the tests of this file noted just now."""
    m = matrix()
    if not m.noted(kind):
        raise Skip("the tests that note what they see have not run")
    lines = m.differences(kind)
    assert not lines, "\n".join(["run tests/interop/pyroscope/matrix.py write"] + lines)
    page = m.PAGE.read_text()
    assert m.render(m.parse(page)) == page, "the page is not as tests/interop/pyroscope/matrix.py writes it"
