# SPDX-License-Identifier: Apache-2.0
"""How each client is told where to send and with which credentials, and what must come of it."""
import json
import os
import re
from collections import namedtuple
from pathlib import Path

TOKEN, TENANT, OWN_HEADER = "dummy-token-0001", "tenant-a", "x-status200-token"
THREE = "three Authorization lines, the last is right"  # which only Python and Rust send

# The base paths of the address: none, with a slash at the end (Node, Python and Rust send "//" then), with a prefix.
PATHS = ["", "/", "/pyroscope", "/pyroscope/", "/v1/profiles/pyroscope"]

# way: (receiver, {what is given: value}). What is given: token, user, password, headers, tenant, userinfo.
WAYS = {
    "none": ("open", {}),
    "Bearer": ("token", {"token": TOKEN}),
    "Basic": ("token", {"user": "anybody", "password": TOKEN}),
    "own header": ("token", {"headers": {OWN_HEADER: TOKEN}}),
    "user:password@ in the address": ("token", {"userinfo": f"anybody:{TOKEN}@"}),
    "X-Scope-OrgID": ("tenant", {"tenant": TENANT}),
    "Bearer over TLS": ("tls", {"token": TOKEN}),
    THREE: ("token", {"userinfo": "anybody:wrong@", "user": "anybody", "password": "wrong",
                      "headers": {"Authorization": f"Bearer {TOKEN}"}}),
}

# burns: a pattern for the name of the function on top. cannot: {way: what happens, because the client does not do it}.
Sdk = namedtuple("Sdk", "name version burns type variables ways cannot")

DEMO = {"token": "DEMO_TOKEN", "user": "DEMO_USER", "password": "DEMO_PASSWORD", "headers": "DEMO_HEADERS",
        "tenant": "DEMO_TENANT", "name": "DEMO_NAME", "address": "DEMO_ADDRESS"}
JAVA = {"token": "PYROSCOPE_AUTH_TOKEN", "user": "PYROSCOPE_BASIC_AUTH_USER", "password": "PYROSCOPE_BASIC_AUTH_PASSWORD",
        "headers": "PYROSCOPE_HTTP_HEADERS", "tenant": "PYROSCOPE_TENANT_ID", "name": "PYROSCOPE_APPLICATION_NAME",
        "address": "PYROSCOPE_SERVER_ADDRESS"}


def pinned(file, pattern):
    """The version that is installed."""
    return re.search(pattern + r"([0-9][0-9.]*)", (Path(__file__).parent / file).read_text())[1]


def ways(*without):
    return [way for way in WAYS if way not in without]


SDKS = {
    "go": Sdk("Go", "pyroscope-go " + pinned("go/go.mod", "pyroscope-go v"), r"^main\.burnMost$", "cpu/nanoseconds", DEMO, ways(THREE), {}),
    "node": Sdk("Node", "@pyroscope/nodejs " + pinned("node/package.json", 'nodejs": "'), r":burnMost:\d+$", "wall/nanoseconds", DEMO,
                ways("own header", THREE), {"user:password@ in the address": "the client sends nothing"}),
    "python": Sdk("Python", "pyroscope-io " + pinned("python/requirements.txt", "io=="), "^burn_most$", "cpu/nanoseconds", DEMO, ways(), {}),
    "rust": Sdk("Rust", "pyroscope " + pinned("rust/Cargo.toml", 'pyroscope = .*"='), "(^|::)burn_most$", "cpu/nanoseconds", DEMO, ways(), {}),
    "java": Sdk("Java", "io.pyroscope:agent " + pinned("java/pom.xml", r"<artifactId>agent</artifactId>\s*<version>"), "", "", JAVA,
                ways("Bearer over TLS", THREE), {}),
}

Case = namedtuple("Case", "sdk way path receiver service")


def cases(sdk):
    """Every way with every path."""
    return [Case(sdk, way, path, WAYS[way][0], f"demo.{sdk}.{SDKS[sdk].ways.index(way)}.{n}")
            for way in SDKS[sdk].ways for n, path in enumerate(PATHS)]


def environment(case, port):
    """What the program of the case finds in its environment."""
    given = dict(WAYS[case.way][1])
    if case.sdk in ("python", "rust") and "token" in given:  # they have no option for a token
        given = {"headers": {"Authorization": f"Bearer {given['token']}"}}
    scheme = "https" if case.receiver == "tls" else "http"
    given["address"] = f"{scheme}://{given.pop('userinfo', '')}127.0.0.1:{port}{case.path}"
    given["name"] = case.service
    if "headers" in given:
        given["headers"] = json.dumps(given["headers"])
    authority = os.environ.get("DEMO_CA", "")
    return {**{SDKS[case.sdk].variables[name]: value for name, value in given.items()},
            **({"SSL_CERT_FILE": authority, "NODE_EXTRA_CA_CERTS": authority} if case.receiver == "tls" else {})}
