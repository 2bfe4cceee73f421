# SPDX-License-Identifier: Apache-2.0
"""The API server that the tests of Kubernetes trust."""
import http.client
import json
import socket
import ssl

from support import kube_api, kube_select
from support.kube_api import Api
from support.kube_authority import Authority
from support.kube_objects import deployment_of, pod, realistic, thing

PODS = "/api/v1/pods"


def connect(api, tls=None):
    make = http.client.HTTPConnection if tls is None else lambda *a, **o: http.client.HTTPSConnection(*a, context=tls, **o)
    return make("127.0.0.1", api.port, timeout=60)


def ask(api, path, token="first-token", connection=None, **headers):
    c = connection or connect(api)
    c.request("GET", path, headers={"Authorization": f"Bearer {token}", **{k.replace("_", "-"): v for k, v in headers.items()}})
    return c.getresponse()


def get(api, path, **more):
    answer = ask(api, path, **more)
    return answer.status, json.loads(answer.read())


def names(body):
    return [o["metadata"]["name"] for o in body["items"]]


def test_lists(_):
    with Api() as api:
        api.put(*[pod(f"p{i}", node=f"n{i % 2}", labels={"app": f"a{i % 3}"}) for i in range(6)], pod("q", namespace="other"))
        code, body = get(api, PODS + "?limit=3")
        assert code == 200 and body["kind"] == "PodList" and len(body["items"]) == 3
        assert body["metadata"]["remainingItemCount"] == 4
        _, rest = get(api, PODS + "?limit=30&continue=" + body["metadata"]["continue"])
        assert sorted(names(body) + names(rest)) == ["p0", "p1", "p2", "p3", "p4", "p5", "q"]
        assert "continue" not in rest["metadata"]
        assert names(get(api, PODS + "?fieldSelector=spec.nodeName%3Dn1")[1]) == ["p1", "p3", "p5"]
        assert names(get(api, PODS + "?labelSelector=app%21%3Da1%2Capp")[1]) == ["p0", "p2", "p3", "p5"]
        assert names(get(api, "/api/v1/namespaces/other/pods")[1]) == ["q"]
        assert len(names(get(api, PODS + "?limit=2&resourceVersion=0")[1])) == 7
        api.compact()
        code, body = get(api, PODS + "?continue=" + kube_api._token(5, ("shop", "p1")))
        assert (code, body["reason"]) == (410, "Expired")


def test_what_is_not_the_truth(_):
    with Api() as api:
        assert get(api, PODS, token="wrong")[0] == 401
        api.denied.add(("nodes", "list"))
        code, body = get(api, "/api/v1/nodes")
        assert code == 403 and 'cannot list resource "nodes" in API group "" at the cluster scope' in body["message"]
        assert get(api, "/apis/apps/v1/pods")[0] == 404
        api.script(kube_api.status(429, Retry_After=3), kube_api.garbage(b"[}"), plural="pods")
        assert ask(api, PODS).headers["Retry-After"] == "3"
        assert ask(api, PODS).read() == b"[}"
        assert get(api, PODS)[0] == 200
        api.script(kube_api.cut(10), plural="pods")
        try:
            ask(api, PODS).read()
            raise AssertionError("was answered")
        except (OSError, http.client.IncompleteRead):
            pass
        assert [r.status for r in api.asked("pods")] == [401, 429, 200, 200, 200]


def test_metadata_alone(_):
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    with Api() as api:
        api.put(*deployment_of("cart"))
        _, body = get(api, "/apis/apps/v1/replicasets", Accept=accept)
        assert body["kind"] == "PartialObjectMetadataList" and body["items"][0]["kind"] == "PartialObjectMetadata"
        assert set(body["items"][0]) == {"kind", "apiVersion", "metadata"}
        api.partial = False
        assert get(api, "/apis/apps/v1/replicasets", Accept=accept)[1]["kind"] == "ReplicaSetList"
        assert get(api, "/apis/apps/v1/replicasets", Accept=accept.split(",")[0])[0] == 406


def lines(answer, count):
    return [json.loads(answer.readline()) for _ in range(count)]


def test_watches(_):
    with Api() as api:
        first, second = pod("a"), pod("b", labels={"app": "x"})
        api.put(first)
        version = api.objects.version
        answer = ask(api, f"{PODS}?watch=1&allowWatchBookmarks=true&resourceVersion={version}")
        api.wait_watching()
        api.put(second, thing("Namespace", "n"))
        api.put(first)
        api.delete(second)
        got = lines(answer, 3)
        assert [(e["type"], e["object"]["metadata"]["name"]) for e in got] == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
        api.bookmark()
        assert lines(answer, 1)[0]["object"]["metadata"]["resourceVersion"] == str(api.objects.version)
        api.end_watches()
        assert answer.read() == b""
        again = ask(api, f"{PODS}?watch=true&resourceVersion={version}&labelSelector=app")
        assert [e["type"] for e in lines(again, 2)] == ["ADDED", "DELETED"]
        api.compact()
        late = ask(api, f"{PODS}?watch=true&resourceVersion={version}")
        assert (late.status, lines(late, 1)[0]["object"]["code"]) == (200, 410)
        api.script(kube_api.cut_event(), verb="watch")
        broken = ask(api, f"{PODS}?watch=true")
        api.wait_watching(beside=api.watching[:1])
        api.put(second)
        try:
            assert broken.read() == b""
            raise AssertionError("was not cut")
        except (OSError, http.client.IncompleteRead):
            pass
        api.wait(lambda: len(api.watching) <= 1, "the end of what was cut")


def test_nobody_waits_for_ever(_):
    with Api() as api:
        api.script(kube_api.hold(), kube_api.quiet())
        held, silent = connect(api), connect(api)
        held.request("GET", PODS)
        api.wait_holding()
        silent.request("GET", PODS + "?watch=1", headers={"Authorization": "Bearer first-token"})
        api.wait_watching()
        held.sock.shutdown(socket.SHUT_RDWR)
        silent.sock.shutdown(socket.SHUT_RDWR)
        api.wait(lambda: not api.watching and not api.holding, "the end of both")


def test_another_certificate(folder):
    old, new = Authority(folder, "old"), Authority(folder, "new")
    trust = ssl.create_default_context(cafile=old.certificate)
    with Api(tls=old.server()) as api:
        assert ask(api, PODS, connection=connect(api, trust)).status == 200
        api.tls = new.server()
        try:
            ask(api, PODS, connection=connect(api, trust))
            raise AssertionError("was trusted")
        except ssl.SSLCertVerificationError:
            pass
        trust.load_verify_locations(new.certificate)
        assert ask(api, PODS, connection=connect(api, trust)).status == 200


def test_pods_are_as_large_as_real_ones(_):
    size = len(kube_api.encode(realistic(pod("p", ip="10.0.0.7"))))
    assert 5000 < size < 8000, size


def test_selectors(_):
    one = {"metadata": {"name": "n", "labels": {"a": "1", "b": "2"}}}
    for text, wanted in (("a", True), ("!a", False), ("a=1", True), ("a==2", False), ("a!=2,b", True), ("c!=1", True),
                         ("a in (1, 3),b", True), ("a notin (1,3)", False), ("c notin (1)", True), ("!c", True)):
        assert kube_select.selector("", {"labelSelector": text})(one) == wanted, text
