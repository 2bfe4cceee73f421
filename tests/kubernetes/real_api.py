# SPDX-License-Identifier: Apache-2.0
"""etcd and kube-apiserver on loopback, and what a cluster's controllers and nodes would write there."""
import atexit
import base64
import copy
import http.client
import json
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

from support import Skip
from support.kube_api import KINDS, PLURALS
from support.kube_authority import Authority

HERE = Path(__file__).resolve().parent
ADMIN, ISSUER = "admin-of-the-test", "https://kubernetes.default.svc"
TIMEOUT = 150.0
ACCOUNT = "system:serviceaccount:{}:{}"
GROUPS = {**{kind: KINDS[plural][0] for kind, plural in PLURALS.items()}, "ServiceAccount": "/api/v1",
          **{kind: "/apis/rbac.authorization.k8s.io/v1" for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")}}


def program(name):
    where = subprocess.run(["bash", HERE / "build.sh", "--where"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    path = Path(where) / name
    if not path.is_file():
        raise Skip(f"{path} is not there: tests/kubernetes/build.sh makes it")
    return str(path)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """A server with its words in a file; it ends with us."""

    def __init__(self, folder, name, *arguments):
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self.child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", program(name), *arguments], stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log, cwd=folder)

    def wait_for(self, accept, what):
        end, pause = time.monotonic() + TIMEOUT, threading.Event()
        while not accept():
            words = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            assert self.child.poll() is None, f"{what}: it ended with code {self.child.returncode}\n{words}"
            assert time.monotonic() < end, f"{what}: in vain\n{words}"
            pause.wait(0.05)

    def crash(self):
        self.child.kill()
        self.child.wait()

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class RealApi:
    def __init__(self, folder):
        self.folder = folder
        self.authority = Authority(folder, "cluster")
        self.certificate, self.key = self.authority.issue("/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1")
        self.context = ssl.create_default_context(cafile=self.authority.certificate)
        self.signing_key = folder / "signing.key"
        subprocess.run(["openssl", "genrsa", "-out", self.signing_key, "2048"], check=True, capture_output=True)
        (folder / "tokens").write_text(f'{ADMIN},admin,admin,"system:masters"\n')
        self.uids, self.connection = {}, None
        self.etcd_port, self.port = free_port(), free_port()
        self.etcd = self.server = None
        atexit.register(self.stop)
        self._start_etcd()
        self.start()

    @property
    def endpoint(self):
        return f"https://127.0.0.1:{self.port}"

    def _start_etcd(self):
        here = f"http://127.0.0.1:{self.etcd_port}"
        peers = f"http://127.0.0.1:{free_port()}"
        self.etcd = Process(self.folder, "etcd", "--data-dir", "etcd", "--listen-client-urls", here, "--advertise-client-urls", here,
                            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
                            "--unsafe-no-fsync")
        self.etcd.wait_for(lambda: self._etcd("range", key="AA==") is not None, "etcd")

    def _etcd(self, what, **body):
        """Its answer; None: there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=30)
        try:
            connection.request("POST", f"/v3/kv/{what}", json.dumps(body))
            return json.loads(connection.getresponse().read())
        except OSError:
            return None
        finally:
            connection.close()

    def start(self):
        self.server = Process(
            self.folder, "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port}", f"--tls-cert-file={self.certificate}", f"--tls-private-key-file={self.key}",
            "--token-auth-file=tokens", "--authorization-mode=RBAC,Node", f"--service-account-key-file={self.signing_key}",
            f"--service-account-signing-key-file={self.signing_key}", f"--service-account-issuer={ISSUER}",
            "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount", "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none", "--cert-dir=certificates", "--shutdown-delay-duration=0s")
        self.server.wait_for(self._is_ready, "kube-apiserver")

    def _is_ready(self):
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def crash(self):
        """Asked to end, it would wait a minute for those who watch."""
        if self.connection:
            self.connection.close()
            self.connection = None
        self.server.crash()

    def stop(self):
        """The other way round the server would not end."""
        for one in (self.server, self.etcd):
            if one:
                one.stop()

    def compact_and_restart(self):
        """What was before is forgotten, and the server's own memory of it."""
        self.crash()
        revision = self._etcd("range", key="AA==")["header"]["revision"]
        self._etcd("compaction", revision=revision, physical=True)
        self.start()

    # -- what is asked and written --

    def ask(self, method, path, body=None, token=ADMIN, kind="application/json", headers=None):
        """(status, JSON or text)"""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind, **(headers or {})}
        if self.connection is None:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.context)
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as e:
            self.connection.close()
            self.connection = None
            raise OSError(f"{method} {path}: {e!r}") from e
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(text) if is_json else text.decode()

    def must(self, method, path, body=None, **more):
        status, answer = self.ask(method, path, body, **more)
        assert status < 300, f"{method} {path}: {status} {answer}"
        return answer

    def path_of(self, one, with_name=False):
        meta = one["metadata"]
        plural = PLURALS.get(one["kind"], one["kind"].lower() + "s")
        where = f"/namespaces/{meta['namespace']}" if "namespace" in meta and one["kind"] != "Namespace" else ""
        return f"{GROUPS[one['kind']]}{where}/{plural}" + (f"/{meta['name']}" if with_name else "")

    def create(self, *objects):
        """As support.kube_objects has them: owners by their names, a pod with its status."""
        for one in objects:
            made = self.must("POST", self.path_of(one), self._acceptable(one))
            self.uids[made["kind"], one["metadata"].get("namespace", ""), made["metadata"]["name"]] = made["metadata"]["uid"]
            if one["kind"] == "Pod":
                self.must("PATCH", self.path_of(one, True) + "/status", {"status": one["status"]}, kind="application/merge-patch+json")

    def _acceptable(self, one):
        one = copy.deepcopy(one)
        meta = one["metadata"]
        for key in ("uid", "creationTimestamp"):
            meta.pop(key, None)
        one.pop("status", None)
        for owner in meta.get("ownerReferences", []):
            owner["uid"] = self.uids.get((owner["kind"], meta.get("namespace", ""), owner["name"]), owner["uid"])
        if one["kind"] == "Pod":
            one["spec"]["automountServiceAccountToken"] = False
        elif one["kind"] not in ("Node", "Namespace") and one["kind"] in PLURALS:
            labels = {"app": meta["name"]}
            one.setdefault("spec", {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}})
        return one

    def change(self, one, patch):
        self.must("PATCH", self.path_of(one, True), patch, kind="application/merge-patch+json")

    def delete(self, one):
        self.must("DELETE", self.path_of(one, True) + "?gracePeriodSeconds=0")

    def uid(self, kind, namespace, name):
        return self.uids[kind, namespace, name]

    def token(self, namespace, name, seconds=3600):
        """As kubelet asks for it."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
        return self.must("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", body)["status"]["token"]

    def signed(self, namespace, name, expires):
        """The same, but ending when we say: the shortest that can be asked for lives for ten minutes."""
        account = self.must("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}")["metadata"]
        claims = {"iss": ISSUER, "aud": [ISSUER], "sub": ACCOUNT.format(namespace, name), "iat": int(expires) - 3600, "nbf": int(expires) - 3600,
                  "exp": int(expires), "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": account["uid"]}}}
        text = ".".join(_url64(json.dumps(x).encode()) for x in ({"alg": "RS256", "typ": "JWT"}, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.signing_key], input=text.encode(), stdout=subprocess.PIPE,
                                   check=True).stdout
        return f"{text}.{_url64(signature)}"


def _url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
