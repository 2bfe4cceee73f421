# SPDX-License-Identifier: Apache-2.0
"""An API server that hangs, cuts, refuses, forgets and is gone: what is known goes on to serve, and nobody is stormed."""
import base64
import signal
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from support import kube_api, process, soak_seconds
from support.kube import Cluster, kubeconfig, relay_config, shop, start
from support.kube_api import Api, cut, cut_event, error_event, garbage, hold, quiet, status
from support.kube_authority import Authority
from support.kube_objects import pod
from support.process import run
from support.sink import Sink

BURST, QPS = 10, 5  # kube_api_burst, kube_api_qps: as they are without being set
ONLY_PODS = {"extract": {"metadata": ["k8s.pod.name"]}}


def assert_no_storm(api, since=0.0, allowed=BURST + 2 * QPS):
    """allowed: requests in a second; what is planned is far less than the limits allow."""
    assert api.most_in(1.0, since) <= allowed, [(r.verb, r.plural, round(r.time, 2)) for r in api.asked(since=since)]


def newcomer(c, name, number):
    """One more pod; it is known as soon as the watch works."""
    c.api.put(pod(name, ip=f"10.0.7.{number}"))
    c.ask.wait_name(name, k8s_pod_ip=f"10.0.7.{number}")


def subfolder(folder, name):
    path = folder / str(name)
    path.mkdir()
    return path


# -- the watch --

def test_away_and_back(folder):
    with Cluster(folder, **ONLY_PODS) as c:
        begin = time.monotonic()
        c.api.refuse()
        while time.monotonic() < begin + soak_seconds():
            assert c.ask.describe(k8s_pod_ip="10.0.0.1")["k8s.pod.name"] == "cart-1"
        assert 1 <= c.relay.metric("profrelay_kubernetes_requests", outcome="lost") <= 2 + soak_seconds(), "it knocks all the time"
        c.api.put(pod("meanwhile", ip="10.0.7.1"))
        c.api.accept_again()
        c.ask.wait_name("meanwhile", k8s_pod_ip="10.0.7.1")
        newcomer(c, "after", 2)
        assert len(c.relay.log("does not serve")) == 1 and len(c.relay.log("serves again")) == 1, c.relay.tail()
        assert len(c.api.asked("pods", "list")) == 1, "the watch goes on from where it was"
        assert_no_storm(c.api, begin)


def test_refused_with_500_for_a_while(folder):
    with Cluster(folder, **ONLY_PODS) as c:
        begin = time.monotonic()
        c.api.script(then=status(500))
        c.api.cut_connections()
        c.api.wait_asked(3, since=begin)
        assert c.ask.describe(k8s_pod_ip="10.0.0.1")["k8s.pod.name"] == "cart-1"
        assert_no_storm(c.api, begin, allowed=2)
        c.api.behave()
        newcomer(c, "after", 1)


def test_watches_end_again_and_again(folder):
    with Cluster(folder, **ONLY_PODS) as c:
        begin = time.monotonic()
        c.api.watch_seconds = 0.01
        c.api.end_watches()
        c.api.wait_asked(4, "pods", "watch", since=begin)
        assert_no_storm(c.api, begin, allowed=3)
        c.api.watch_seconds = None
        newcomer(c, "after", 1)
        assert len(c.api.asked("pods", "list")) == 1


def test_cut_in_the_middle_of_an_event(folder):
    with Cluster(folder, **ONLY_PODS) as c:
        first = c.api.wait_watching()
        c.api.script(cut_event(), plural="pods", verb="watch")
        c.api.end_watches()
        c.api.wait_watching(beside=[first])
        newcomer(c, "whole", 1)
        newcomer(c, "after", 2)
        assert len(c.api.asked("pods", "list")) == 1
        assert_no_storm(c.api)


def test_bookmarks_save_a_list(folder):
    with Cluster(folder, filter={"namespace": "shop"}, **ONLY_PODS) as c:
        watch = c.api.wait_watching()
        assert watch.query["allowWatchBookmarks"] == "true" and int(watch.query["timeoutSeconds"]) >= 240, watch.query
        for i in range(20):
            c.api.put(pod(f"elsewhere-{i}", namespace="other"))
        c.api.bookmark()
        version = c.api.objects.version
        c.api.end_watches()
        again = c.api.wait_watching(beside=[watch])
        assert int(again.query["resourceVersion"]) >= version
        assert len(c.api.asked("pods", "list")) == 1


def lost(folder, *acts, grace="1ms"):
    """A pod goes and another comes while nobody watches, and the API does not remember which."""
    with Cluster(folder, pod_delete_grace_period=grace, **ONLY_PODS) as c:
        c.api.refuse()
        c.api.delete(pod("cart-2"))
        c.api.put(pod("late", ip="10.0.7.1"))
        c.api.compact()
        c.api.script(*acts, plural="pods")
        c.api.accept_again()
        c.ask.wait_name("late", k8s_pod_ip="10.0.7.1")
        c.ask.wait_name(None, source="127.0.0.2")
        assert len(c.api.asked("pods", "list")) == 2
        newcomer(c, "after", 2)
        assert_no_storm(c.api)
        return [r.status for r in c.api.asked("pods")]


def test_410_as_an_event(folder):
    assert lost(folder)[-3:] == [200, 200, 200]


def test_410_as_a_status(folder):
    assert 410 in lost(folder, status(410))


def test_another_error_as_an_event(folder):
    with Cluster(folder, **ONLY_PODS) as c:
        begin = time.monotonic()
        c.api.script(error_event(500), error_event(500), plural="pods", verb="watch")
        c.api.end_watches()
        c.api.wait_met()
        newcomer(c, "after", 1)
        assert_no_storm(c.api, begin, allowed=3)


def test_it_waits_as_long_as_it_is_told(folder):
    with Cluster(folder, **ONLY_PODS) as c:
        begin = time.monotonic()
        c.api.script(status(429, Retry_After=2), plural="pods")
        c.api.end_watches()
        c.api.wait_asked(2, since=begin)
        told, again = c.api.asked(since=begin)[:2]
        assert told.status == 429 and again.time - told.time >= 1.9, (told, again)
        newcomer(c, "after", 1)


def test_a_watch_that_only_seems_alive(folder):
    """It has sent a head, and then says nothing, not even a bookmark."""
    with Cluster(folder, kube_api_timeout="400ms", **ONLY_PODS) as c:
        first = c.api.wait_watching()
        c.api.script(quiet(), plural="pods", verb="watch")
        c.api.end_watches()
        c.api.wait_watching(beside=[first])
        c.api.put(pod("unheard", ip="10.0.7.1"))
        c.ask.wait_name("unheard", k8s_pod_ip="10.0.7.1")
        assert len(c.api.asked("pods", "list")) == 1
        assert_no_storm(c.api)


def test_garbage_in_a_watch(folder):
    huge = b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"' + b"x" * (6 << 20) + b'"}}}\n'
    bodies = [b"not json at all\n", b'{"type":"ADDED","object":[]}\n', b'{"type":"WHAT","object":{}}\n', b"[" * 100000, huge,
              b'{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","uid":"u"}}}\n', b"\0\0\0\0", b""]
    with ExitStack() as stack:
        clusters = [stack.enter_context(Cluster(subfolder(folder, i), **ONLY_PODS)) for i in range(len(bodies))]
        begin = time.monotonic()
        for c, body in zip(clusters, bodies):
            c.api.script(garbage(body), plural="pods", verb="watch")
            c.api.end_watches()
        for c in clusters:
            c.api.wait_met()
            assert c.ask.describe(k8s_pod_ip="10.0.0.1")["k8s.pod.name"] == "cart-1"
            newcomer(c, "after", 1)
            assert_no_storm(c.api, begin, allowed=3)


# -- the list --

def first_lists(folder, *scripts, **more):
    """The first list of pods meets those, each script in a cluster of its own; at last all is well. All requests for pods."""
    with ExitStack() as stack:
        clusters = []
        for i, acts in enumerate(scripts):
            api = Api()
            api.script(*acts, plural="pods", verb="list")
            clusters.append(stack.enter_context(Cluster(subfolder(folder, i), wait=False, api=api, wait_for_metadata=False, **ONLY_PODS, **more)))
        for c in clusters:
            c.api.wait_met()
            c.ask.wait_name("cart-1", k8s_pod_ip="10.0.0.1")
            newcomer(c, "after", 1)
            assert_no_storm(c.api, allowed=3)
        return [r for c in clusters for r in c.api.asked("pods")]


def test_a_list_that_fails_first(folder):
    nodes = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}'
    first_lists(folder, (status(500), status(503, Retry_After=1)), (cut(0), cut(700)), (garbage(b"<html>"), garbage(b"")),
                (garbage(nodes), status(504)))


def test_a_list_that_stalls(folder):
    asked = first_lists(folder, (hold(), hold()), kube_api_timeout="400ms")
    assert [r.status for r in asked][:2] == [0, 0]


def test_redirects_are_not_followed(folder):
    with Api() as other:
        other.put(*shop())
        first_lists(folder, (status(307, Location=f"{other.endpoint}/api/v1/pods"),))
        assert not other.requests, "the token went to another"


def test_pages(folder):
    objects = [pod(f"p{i}", ip=f"10.1.{i // 250}.{i % 250}") for i in range(1234)]
    api = Api()
    api.page_of_zero = True
    with Cluster(folder, api=api, objects=objects, **ONLY_PODS) as c:
        lists = c.api.asked("pods", "list")
        assert all("limit" in r.query for r in lists), lists
        for i in (0, 499, 500, 999, 1000, 1233):
            assert c.ask.describe(k8s_pod_ip=f"10.1.{i // 250}.{i % 250}")["k8s.pod.name"] == f"p{i}"


def test_pages_that_are_too_old(folder):
    objects = [pod(f"p{i}", ip=f"10.1.{i // 250}.{i % 250}") for i in range(1100)]
    api = Api()
    api.page_of_zero = True
    api.put(*objects)
    api.script(kube_api.Act(), status(410), plural="pods", verb="list")
    with Cluster(folder, api=api, objects=[], **ONLY_PODS) as c:
        lists = c.api.asked("pods", "list")
        assert ["continue" in r.query for r in lists][:2] == [False, True] and [r.status for r in lists][:2] == [200, 410]
        for i in (0, 600, 1099):
            assert c.ask.describe(k8s_pod_ip=f"10.1.{i // 250}.{i % 250}")["k8s.pod.name"] == f"p{i}"


# -- who we are --

def test_a_token_that_is_too_old(folder):
    token = folder / "token"
    token.write_text("first-token\n")
    with Cluster(folder, user={"tokenFile": str(token)}, **ONLY_PODS) as c:
        begin = time.monotonic()
        c.api.tokens = {"second-token"}
        c.api.end_watches()
        c.api.wait(lambda: any(r.status == 401 for r in c.api.requests), "a refusal")
        assert c.ask.describe(k8s_pod_ip="10.0.0.1")["k8s.pod.name"] == "cart-1"
        replace(token, "second-token\n")
        newcomer(c, "after", 1)
        assert_no_storm(c.api, begin)
        assert not c.relay.log("first-token|second-token"), "a secret in the log"


def replace(path, text):
    """As kubelet does: another file in its place."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def service_account(folder, api, authority, token="first-token"):
    """What a pod finds in itself; (environment, settings)"""
    inside = folder / "serviceaccount"
    inside.mkdir()
    (inside / "token").write_text(token)
    (inside / "namespace").write_text("monitoring")
    (inside / "ca.crt").write_bytes(authority.certificate.read_bytes())
    return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)}, {
        "auth_type": "serviceAccount", "service_account_folder": str(inside)}


def test_in_a_pod_with_another_certificate_later(folder):
    old, new = Authority(folder, "old"), Authority(folder, "new")
    with Api(tls=old.server()) as api:
        env, settings = service_account(folder, api, old)
        with Cluster(folder, api=api, env=env, **settings, **ONLY_PODS) as c:
            newcomer(c, "before", 1)
            begin = time.monotonic()
            c.api.tls = new.server()
            c.api.cut_connections()
            c.api.put(pod("unseen", ip="10.0.7.2"))
            assert c.ask.describe(k8s_pod_ip="10.0.0.1")["k8s.pod.name"] == "cart-1"
            assert not c.api.asked(since=begin), "somebody was trusted who should not be"
            replace(folder / "serviceaccount" / "ca.crt", new.certificate.read_text())
            c.ask.wait_name("unseen", k8s_pod_ip="10.0.7.2")


def test_ways_to_show_who_one_is(folder):
    authority = Authority(folder)
    certificate, key = authority.issue("/CN=profrelay")
    text = {"certificate-authority-data": base64.b64encode(authority.certificate.read_bytes()).decode()}
    basic = "Basic " + base64.b64encode(b"anna:the-password").decode()
    data = {"client-certificate-data": base64.b64encode(Path(certificate).read_bytes()).decode(),
            "client-key-data": base64.b64encode(Path(key).read_bytes()).decode()}
    cases = [({"token": "first-token"}, text, "Bearer first-token"), ({"username": "anna", "password": "the-password"}, text, basic),
             ({"client-certificate": certificate, "client-key": key}, {"certificate-authority": str(authority.certificate)}, None),
             (data, text, None), ({"token": "first-token"}, {"insecure-skip-tls-verify": True}, "Bearer first-token"),
             ({"token": "first-token"}, {**text, "tls-server-name": "api.example.com"}, "Bearer first-token")]
    for i, (user, cluster, wanted) in enumerate(cases):
        at = subfolder(folder, i)
        tls = authority.server("DNS:api.example.com" if "tls-server-name" in cluster else "IP:127.0.0.1", authority)
        if wanted is None:
            tls.verify_mode = ssl.CERT_REQUIRED
        with Cluster(at, api=Api(tls=tls, tokens=None), user=user, cluster=cluster, **ONLY_PODS) as c:
            assert c.api.asked("pods")[0].headers.get("authorization") == wanted, user
            assert not c.relay.log("first-token|the-password|YW5uYTp"), "a secret in the log"


def test_commands_are_not_run(folder):
    with Api() as api, Sink() as sink:
        for user, words in (({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(folder / "x")]}}, "exec"),
                            ({"auth-provider": {"name": "oidc"}}, "auth-provider")):
            path = kubeconfig(folder / "kubeconfig", api.endpoint, user)
            (folder / "c.yaml").write_text(relay_config(sink, {"auth_type": "kubeConfig"}))
            done = run("--config", folder / "c.yaml", env={"KUBECONFIG": path})
            assert done.returncode == 1 and words in done.stderr and "kubeconfig" in done.stderr, done.stderr
        assert not (folder / "x").exists()


def test_what_may_not_be_seen(folder):
    api = Api()
    api.denied = {("replicasets", "list"), ("nodes", "watch"), ("namespaces", "list")}
    extract = {"metadata": ["k8s.pod.name", "k8s.deployment.uid", "k8s.node.uid", "k8s.cluster.uid"]}
    with Cluster(folder, api=api, extract=extract, wait_for_metadata=False) as c:
        assert c.ask.wait_name("cart-1", k8s_pod_ip="10.0.0.1")
        for verb, plural in (("list", "replicasets"), ("watch", "nodes"), ("list", "namespaces")):
            c.relay.wait_line(f"{plural}.*{verb}|{verb}.*{plural}")
        c.api.wait(lambda: all(any(r.status == 403 for r in c.api.asked(p)) for p in ("replicasets", "nodes", "namespaces")), "refusals")
        newcomer(c, "after", 1)
        assert_no_storm(c.api)
        assert len([r for r in c.api.requests if r.status == 403]) < 20, "it is retried slowly"


def test_no_secret_in_any_line(folder):
    secret = "s3cr3t-t0k3n"
    api = Api(tokens=("another",))
    loud = {"telemetry": {"logs": {"level": "debug"}, "metrics": {"readers": [
        {"pull": {"exporter": {"prometheus": {"host": "localhost", "port": 0}}}}]}}}
    with Cluster(folder, wait=False, api=api, user={"token": secret}, service=loud, wait_for_metadata=False) as c:
        c.api.wait(lambda: sum(r.status == 401 for r in c.api.requests) >= 2, "refusals")
        assert c.api.requests[0].headers["authorization"] == f"Bearer {secret}"
        c.relay.wait_line("401|Unauthorized|unauthorized")
        assert not c.relay.log(secret)
        assert_no_storm(c.api)


# -- the end --

def ends_well(folder, api, when, signals=1, **more):
    """It ends at once, whatever the API does."""
    with Sink() as sink:
        relay = start(folder, sink, api, wait_for_metadata=False, **more)
        try:
            when(relay)
            begin = time.monotonic()
            relay.signal(signal.SIGTERM)
            assert relay.wait() == 0, relay.tail()
            assert time.monotonic() - begin < 15, "it waited for the API"
            relay.assert_silent()
        finally:
            relay.kill()


def test_the_end_while_nobody_accepts(folder):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)

        class Silent:
            endpoint = f"http://127.0.0.1:{full.getsockname()[1]}"
        ends_well(folder, Silent, lambda relay: None)


def test_the_end_at_every_moment(folder):
    moments = {"head": (hold(), lambda api: api.wait_holding()), "list cut": (cut(300), lambda api: api.wait_asked(2)),
               "refused": (status(500), lambda api: api.wait_asked(2)), "told to wait": (status(429, Retry_After=600), lambda api: api.wait_asked(1)),
               "unauthorized": (status(401), lambda api: api.wait_asked(2)), "forbidden": (status(403), lambda api: api.wait_asked(1)),
               "garbage": (garbage(b"{"), lambda api: api.wait_asked(2))}
    for name, (act, reached) in moments.items():
        at = subfolder(folder, name)
        with Api() as api:
            api.put(*shop())
            api.script(then=act)
            ends_well(at, api, lambda relay: reached(api))


def test_the_end_of_a_watch(folder):
    for act in (kube_api.Act(), quiet()):
        at = subfolder(folder, act.quiet)
        with Api() as api:
            api.put(*shop())
            api.script(then=act, verb="watch")
            ends_well(at, api, lambda relay: api.wait_watching())
            api.wait(lambda: not api.watching, "the end of the watch")


def test_the_end_while_it_waits_for_metadata(folder):
    with Api() as api, Sink() as sink:
        api.script(then=hold())
        path = kubeconfig(folder / "kubeconfig", api.endpoint, {"token": "first-token"})
        (folder / "c.yaml").write_text(relay_config(sink, {"auth_type": "kubeConfig", "wait_for_metadata": True, "wait_for_metadata_timeout": "60s"}))
        with subprocess.Popen([process.program(), "--config", folder / "c.yaml"], env=process.environment({"KUBECONFIG": path}),
                              stderr=subprocess.PIPE, text=True) as child:
            try:
                api.wait_holding()
                child.send_signal(signal.SIGTERM)
                words = child.communicate(timeout=60)[1]
                assert child.returncode == 0 and not process.SANITIZER.search(words), words
            finally:
                child.kill()
