# SPDX-License-Identifier: Apache-2.0
"""resource_detection against metadata services on loopback that answer as the clouds' do, or not at all; service_name."""
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import otlp, pprof_make
from support.process import READY, Relay, config, run
from support.setup import file_receiver, otlp_exporter, pipeline
from support.sink import Sink
from test_batch import request
from test_otlp_receiver import PROTO, post

TOKEN = "AQAEAtoken=="
DOCUMENT = {"accountId": "123456789012", "architecture": "arm64", "availabilityZone": "eu-central-1b", "billingProducts": None,
            "imageId": "ami-5fb8c835", "instanceId": "i-1234567890abcdef0", "instanceType": "t4g.micro",
            "privateIp": "10.158.112.84", "region": "eu-central-1", "version": "2017-09-30"}
COMPUTE = {"location": "westeurope", "name": "vm-name", "osProfile": {"adminUsername": "azureuser", "computerName": "vm-host"},
           "resourceGroupName": "group", "subscriptionId": "sub-1", "tagsList": [{"name": "a", "value": "b"}],
           "vmId": "vm-id", "vmScaleSetName": "set", "vmSize": "Standard_A3", "zone": "2"}
GOOGLE = {"project/project-id": "my-project", "instance/zone": "projects/9/zones/europe-west4-a", "instance/id": "4520031799277581759",
          "instance/name": "vm-1", "instance/machine-type": "projects/9/machineTypes/e2-small"}


class Clouds(ThreadingHTTPServer):
    """All three services at one address. behave: path -> (status, body) instead of what is usual."""

    daemon_threads = True

    def __init__(self):
        self.behave, self.asked, self.hang, self.hung = {}, [], threading.Event(), threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Of an answer that nobody wants to hear to its end."""

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hang.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin(self):
        self.server.asked.append(f"{self.command} {self.path}")
        odd = self.server.behave.get(self.path)
        if odd == "hang":
            self.server.hung.set()
            self.server.hang.wait(60)
            self.close_connection = True
        elif odd is not None:
            self.answer(*odd)
        return odd is None

    def do_PUT(self):
        if not self.begin():
            return
        ttl = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        good = self.path == "/latest/api/token" and ttl.isdigit() and 1 <= int(ttl) <= 21600 and "X-Forwarded-For" not in self.headers
        self.answer(200 if good else 400, TOKEN if good else "bad")

    def do_GET(self):
        if not self.begin():
            return
        if self.path.startswith("/latest/"):
            if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
                self.answer(401, "")
            elif self.path == "/latest/dynamic/instance-identity/document":
                self.answer(200, json.dumps(DOCUMENT, indent=2), Content_Type="text/plain")
            else:
                self.answer(200, "ip-10-158-112-84.eu-central-1.compute.internal")
        elif self.path.startswith("/metadata/instance/compute?"):
            good = self.headers.get("Metadata") == "true" and "api-version=2021-02-01" in self.path
            self.answer(200 if good else 400, json.dumps(COMPUTE), Content_Type="application/json; charset=utf-8")
        else:
            body = GOOGLE.get(self.path.removeprefix("/computeMetadata/v1/"))
            good = self.headers.get("Metadata-Flavor") == "Google"
            self.answer(403 if not good else 404 if body is None else 200, body or "", Metadata_Flavor="Google",
                        Content_Type="application/text")


def relay_config(sink, **settings):
    receiver = {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}
    service = {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": ["resource_detection"], "exporters": ["otlp_http"]}}}
    return config(receivers={"otlp": receiver}, processors={"resource_detection": settings}, service=service,
                  exporters={"otlp_http": otlp_exporter(sink)})


def detected(folder, env=None, **settings):
    """(what the resource has besides service.name, the relay's log)"""
    with Sink() as sink, Relay(relay_config(sink, **settings), folder, env=env) as relay:
        assert post(relay, request("shop", {"main": 1}), PROTO)[0] == 200
        sink.wait_accepted(1)
        resource = dict(otlp.decode_all(sink.accepted())[0].resource)
        return resource, relay


def test_ec2(folder):
    with Clouds() as clouds:
        got, relay = detected(folder, detectors=["ec2"], ec2={"endpoint": clouds.endpoint})
        assert got == {"service.name": "shop", "cloud.provider": "aws", "cloud.platform": "aws_ec2",
                       "cloud.account.id": "123456789012", "cloud.region": "eu-central-1",
                       "cloud.availability_zone": "eu-central-1b", "host.id": "i-1234567890abcdef0",
                       "host.image.id": "ami-5fb8c835", "host.type": "t4g.micro",
                       "host.name": "ip-10-158-112-84.eu-central-1.compute.internal"}
        assert clouds.asked == ["PUT /latest/api/token", "GET /latest/dynamic/instance-identity/document",
                                "GET /latest/meta-data/hostname"]
        assert relay.log("found 9 attributes: ") and not relay.log("warn")


def test_gcp_and_azure(folder):
    with Clouds() as clouds:
        got, _ = detected(folder, detectors=["gcp"], gcp={"endpoint": clouds.endpoint})
        assert got == {"service.name": "shop", "cloud.provider": "gcp", "cloud.platform": "gcp_compute_engine",
                       "cloud.account.id": "my-project", "cloud.region": "europe-west4",
                       "cloud.availability_zone": "europe-west4-a", "host.id": "4520031799277581759", "host.name": "vm-1",
                       "host.type": "e2-small"}
        zone = {"resource_attributes": {"cloud.availability_zone": {"enabled": True}, "host.id": {"enabled": False}}}
        got, _ = detected(folder, detectors=["azure"], azure={"endpoint": clouds.endpoint, **zone})
        assert got == {"service.name": "shop", "cloud.provider": "azure", "cloud.platform": "azure_vm", "cloud.region": "westeurope",
                       "cloud.availability_zone": "2", "cloud.account.id": "sub-1", "host.name": "vm-host",
                       "azure.vm.name": "vm-name", "azure.vm.size": "Standard_A3", "azure.vm.scaleset.name": "set",
                       "azure.resourcegroup.name": "group"}


def test_the_environment_and_the_order_of_detectors(folder):
    env = {"OTEL_RESOURCE_ATTRIBUTES": "team=a%20b,host.id=mine", "HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"}
    with Clouds() as clouds:
        got, _ = detected(folder, env=env, detectors=["env", "ec2"], ec2={"endpoint": clouds.endpoint})
        assert got["team"] == "a b" and got["host.id"] == "mine" and got["cloud.provider"] == "aws"
        env["OTEL_SERVICE_NAME"] = "other"
        assert detected(folder, env=env)[0] == {"service.name": "other", "team": "a b", "host.id": "mine"}
        assert detected(folder, env=env, override=False)[0]["service.name"] == "shop"


def test_peers_that_are_no_metadata_service(folder):
    """404, garbage and too much are named, and profrelay goes on."""
    answers = {"/latest/api/token": (404, "<html>no</html>"),
               "/computeMetadata/v1/project/project-id": (200, b"\0\xff\xfe"),
               "/metadata/instance/compute?api-version=2021-02-01&format=json": (200, b"{" + b" " * 5_000_000)}
    with Clouds() as clouds:
        clouds.behave.update(answers)
        at = {"endpoint": clouds.endpoint}
        got, relay = detected(folder, detectors=["ec2", "gcp", "azure"], ec2=at, gcp=at, azure=at)
        assert got == {"service.name": "shop"}
        for detector in ("ec2", "gcp", "azure"):
            assert len(relay.log(f"warn.*detector {detector}: ")) == 1, relay.tail()
        assert relay.log("the answer is 404; in a container the instance's HttpPutResponseHopLimit")
        assert relay.log("the answer has no header Metadata-Flavor: Google")


def test_nobody_is_there(folder):
    """A closed port, a name that is none, a peer that hangs: the others' finds count, after the timeout at the latest."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{s.getsockname()[1]}"
        with Clouds() as clouds:
            clouds.behave["/metadata/instance/compute?api-version=2021-02-01&format=json"] = "hang"
            got, relay = detected(folder, env={"OTEL_RESOURCE_ATTRIBUTES": "a=1"}, detectors=["ec2", "gcp", "azure", "env"],
                                  timeout="500ms", ec2={"endpoint": closed}, gcp={"endpoint": "http://metadata.invalid"},
                                  azure={"endpoint": clouds.endpoint})
            assert got == {"service.name": "shop", "a": "1"}
            assert relay.log(r"detector azure: no answer within timeout \(0.5s\)")
            assert relay.log("detector ec2: ") and relay.log("detector gcp: ")


def test_a_failure_may_be_fatal(folder):
    with Sink() as sink, Clouds() as clouds:
        clouds.behave["/latest/api/token"] = (500, "")
        path = Path(folder) / "fatal.yaml"
        path.write_text(relay_config(sink, detectors=["ec2"], ec2={"endpoint": clouds.endpoint}, fail_on_missing_metadata=True))
        done = run("--config", path)
        assert done.returncode == 1 and READY not in done.stderr
        assert "processors.resource_detection: detector ec2: " in done.stderr and "the answer is 500" in done.stderr, done.stderr


def test_it_is_asked_again(folder):
    with Sink() as sink, Clouds() as clouds:
        clouds.behave["/latest/api/token"] = (503, "")
        text = relay_config(sink, detectors=["ec2"], ec2={"endpoint": clouds.endpoint}, refresh_interval="100ms")
        with Relay(text, folder) as relay:
            clouds.behave.clear()
            relay.wait_line("found 9 attributes")
            assert post(relay, request("shop", {"main": 1}), PROTO)[0] == 200
            sink.wait_accepted(1)
            assert otlp.decode_all(sink.accepted())[0].resource["cloud.region"] == "eu-central-1"
            assert relay.metric("profrelay_resource_detection_runs", detector="ec2", outcome="failure") >= 1
            assert relay.metric("profrelay_resource_detection_runs", detector="ec2", outcome="success") >= 1
            assert relay.metric("profrelay_resource_detection_attributes") == 9


def test_it_ends_while_it_is_asking(folder):
    with Sink() as sink, Clouds() as clouds:
        text = relay_config(sink, detectors=["ec2"], ec2={"endpoint": clouds.endpoint}, refresh_interval="20ms", timeout="60s")
        with Relay(text, folder) as relay:
            clouds.behave["/latest/api/token"] = "hang"
            clouds.hung.wait(30)
            started = time.monotonic()
        assert time.monotonic() - started < 2, relay.tail()


def test_a_container_and_its_host(folder):
    root = Path(folder) / "root"
    for name, content in {"proc/self/cgroup": "0::/system.slice/docker-" + "ab" * 32 + ".scope\n", "etc/hostname": "node-1\n",
                          "etc/machine-id": "8d5c\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    system = {"hostname_sources": ["os"], "resource_attributes": {"host.id": {"enabled": True}}}
    got, _ = detected(folder, detectors=["container", "system"], root_path=str(root), system=system)
    assert got == {"service.name": "shop", "container.id": "ab" * 32, "host.name": "node-1", "os.type": "linux", "host.id": "8d5c"}


def test_a_file_gets_the_name_of_its_program(folder):
    """pprof says which program a profile is of: the mapping next to the root that is no library."""
    (folder / "in").mkdir()
    receiver = file_receiver(folder / "in", "unknown_service:go")
    with Sink() as sink:
        text = json.loads(pipeline(folder, {"pprof": receiver}, {"otlp_http": otlp_exporter(sink)}))
        text["processors"] = {"service_name": {}}
        text["service"]["pipelines"]["profiles"]["processors"] = ["service_name"]
        with Relay(json.dumps(text), folder) as relay:
            data = pprof_make.make(seed=1, compressed=False).replace(b"/usr/lib/part0.so", b"/usr/bin/checkout")
            pprof_make.write(folder / "in/one.pb.gz", data)
            sink.wait_accepted(1)
            assert otlp.decode_all(sink.accepted())[0].resource["service.name"] == "checkout"
            assert relay.metric("profrelay_service_name_fallbacks", source="file") == 1


def test_an_unread_request_gets_a_name_too(folder):
    receiver = {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}
    with Sink() as sink:
        service = {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": ["service_name"], "exporters": ["otlp_http"]}}}
        text = config(receivers={"otlp": receiver}, processors={"service_name": {}}, service=service,
                      exporters={"otlp_http": otlp_exporter(sink)})
        with Relay(text, folder) as relay:
            assert post(relay, request(None, {"main": 1}), PROTO)[0] == 200
            sink.wait_accepted(1)
            assert otlp.decode_all(sink.accepted())[0].resource["service.name"] == "unknown_service"
            assert relay.metric("profrelay_service_name_fallbacks", source="unknown_service") == 1
