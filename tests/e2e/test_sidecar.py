# SPDX-License-Identifier: Apache-2.0
"""examples/sidecar.yaml as it stands: OTLP in, a vendor behind TLS who wants a token, little memory."""
import http.client
import re
import shutil
import ssl
import subprocess
import urllib.request
from pathlib import Path

from support import ROOT, Skip, pprof_make
from support.process import Relay, program, run
from support.sink import Sink, status

PATH = "/v1development/profiles"
RSS_MAX, OWN_MAX = 12 << 20, 5 << 20  # of a build without sanitizers; own: not pages of files that others may share


def vendor_tls(folder):
    """A certificate for 127.0.0.1 that signs itself: (context of the server, file for those who trust it)."""
    if not shutil.which("openssl"):
        raise Skip("no openssl: apt-get install openssl")
    certificate, key = folder / "vendor.pem", folder / "vendor.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=vendor", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


class Vendor(Sink):
    """Takes what has the header it wants, refuses the rest."""

    def __init__(self, tls, header="authorization", value="Bearer first-token"):
        super().__init__(tls=tls, judge=self._judge)
        self.header, self.value = header, value

    def _judge(self, headers):
        return None if headers.get(self.header) == self.value else status(401, "who are you?")


def sidecar(folder, sink, certificate, **more):
    token = folder / "token"
    token.write_text("first-token\n")
    env = {"PROFRELAY_GRPC": "127.0.0.1:0", "PROFRELAY_HTTP": "127.0.0.1:0", "PROFRELAY_HEALTH": "127.0.0.1:0",
           "PROFRELAY_METRICS_PORT": "0", "PROFRELAY_UPSTREAM": sink.endpoint, "PROFRELAY_TOKEN_FILE": str(token),
           "SSL_CERT_FILE": str(certificate), **more}
    return Relay((ROOT / "examples/sidecar.yaml").read_text(), folder, env=env)


def port(relay, protocol):
    return int(re.search(r"port (\d+)", relay.wait_line(f"OTLP/{protocol} at .*port"))[1])


def profile(folder):
    pprof_make.write(folder / "p.pb.gz", pprof_make.make(seed=1))
    done = run("convert", folder / "p.pb.gz", folder / "p.otlp")
    assert done.returncode == 0, done.stderr
    return (folder / "p.otlp").read_bytes()


def post(connection, body):
    connection.request("POST", PATH, body, {"Content-Type": "application/x-protobuf"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_http_and_grpc_reach_the_vendor(folder):
    tls, certificate = vendor_tls(folder)
    body = profile(folder)
    with Vendor(tls) as sink, sidecar(folder, sink, certificate) as relay:
        connection = http.client.HTTPConnection("127.0.0.1", port(relay, "HTTP"), timeout=60)
        assert post(connection, body) == (200, b"")
        sink.wait_accepted(1)
        if not shutil.which("curl"):
            raise Skip("no curl: apt-get install curl")
        (folder / "message").write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
        url = f"http://127.0.0.1:{port(relay, 'gRPC')}/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
        subprocess.run(["curl", "-sS", "--fail", "--http2-prior-knowledge", "-H", "content-type: application/grpc", "-H",
                        "te: trailers", "--data-binary", f"@{folder}/message", "-o", "/dev/null", url], check=True, timeout=60)
        sink.wait_accepted(2)
        assert sink.count() == 2, "a request went out without its token"


def test_a_new_token_is_used(folder):
    tls, certificate = vendor_tls(folder)
    with Vendor(tls) as sink, sidecar(folder, sink, certificate) as relay:
        connection = http.client.HTTPConnection("127.0.0.1", port(relay, "HTTP"), timeout=60)
        assert post(connection, profile(folder))[0] == 200
        sink.wait_accepted(1)
        sink.value = "Bearer second-token"
        (folder / "token").write_text("second-token\n")
        assert post(connection, profile(folder))[0] == 200
        sink.wait_accepted(2)
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 1)
        assert relay.metric("otelcol_exporter_send_failed_profile_samples") == 0


def test_a_vendor_with_a_header_of_its_own(folder):
    tls, certificate = vendor_tls(folder)
    own = {"PROFRELAY_TOKEN_HEADER": "x-vendor-token", "PROFRELAY_TOKEN_SCHEME": ""}
    with Vendor(tls, "x-vendor-token", "first-token") as sink, sidecar(folder, sink, certificate, **own) as relay:
        connection = http.client.HTTPConnection("127.0.0.1", port(relay, "HTTP"), timeout=60)
        assert post(connection, profile(folder))[0] == 200
        sink.wait_accepted(1)


def test_it_is_healthy(folder):
    tls, certificate = vendor_tls(folder)
    with Vendor(tls) as sink, sidecar(folder, sink, certificate) as relay:
        page = re.search(r"port (\d+)", relay.wait_line("health at .*port"))[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/", timeout=10) as answer:
            assert answer.status == 200


def memory(relay):
    """(resident, of it its own), in bytes"""
    status_text = Path(f"/proc/{relay.pid}/status").read_text()
    return tuple(int(re.search(rf"^{name}:\s+(\d+) kB", status_text, re.M)[1]) << 10 for name in ("VmRSS", "RssAnon"))


def test_its_memory(folder):
    tls, certificate = vendor_tls(folder)
    body = profile(folder)
    with Vendor(tls) as sink, sidecar(folder, sink, certificate) as relay:
        idle = memory(relay)
        connection = http.client.HTTPConnection("127.0.0.1", port(relay, "HTTP"), timeout=60)
        for n in range(200):
            while post(connection, body)[0] == 503:
                sink.wait_accepted(n)
        sink.wait_accepted(200)
        busy = memory(relay)
        for when, (resident, own) in (("ready", idle), ("after 200 requests", busy)):
            print(f"sidecar, {len(body)} bytes a request, {when}: {resident / 2**20:.1f} MiB resident, {own / 2**20:.1f} MiB its own")
        if not re.search(rb"__[at]san_", Path(program()).read_bytes()):
            assert busy[0] < RSS_MAX and busy[1] < OWN_MAX, busy
