# SPDX-License-Identifier: Apache-2.0
"""Pods and services on profiles: what is found by what, in the roles that a collector has in a cluster."""
import json
import random
import threading
import time

from support import kube_api, otlp
from support.kube import Asker, Cluster, Part, kubeconfig, relay_config, samples_of, shop, start
from support.kube_api import Api
from support.kube_objects import container_id, pod, uid_of
from support.process import Relay, run
from support.sink import Sink


# -- the gateway --

def test_what_is_known_of_a_pod(folder):
    with Cluster(folder) as c:
        got = c.ask.describe(k8s_pod_uid=uid_of("Pod", "shop", "cart-1"))
        assert got == {"k8s.pod.uid": uid_of("Pod", "shop", "cart-1"), "k8s.pod.name": "cart-1", "k8s.namespace.name": "shop",
                       "k8s.node.name": "node-1", "k8s.deployment.name": "cart", "k8s.pod.start_time": "2026-11-30T08:00:00Z"}


def test_the_connection_says_who_it_is(folder):
    with Cluster(folder) as c:
        assert c.ask.describe(source="127.0.0.2")["k8s.pod.name"] == "cart-2"
        assert "k8s.pod.name" not in c.ask.describe(source="127.0.0.3"), "a pod with the node's address"
        assert "k8s.pod.name" not in c.ask.describe(source="127.0.0.4"), "its address may be another's by now"
        assert "k8s.pod.name" not in c.ask.describe(source="127.0.0.5"), "there is none"
        assert c.ask.describe(source="127.0.0.2", k8s_pod_ip="10.0.0.1")["k8s.pod.name"] == "cart-1", "what it says comes first"


def test_attributes_of_the_resource_say_who_it_is(folder):
    app, proxy = container_id("cart-1", "app"), container_id("cart-1", "proxy")
    cases = [("cart-1", {"k8s_pod_ip": "10.0.0.1"}), ("cart-1", {"container_id": app}), ("cart-1", {"container_id": f"containerd://{proxy}"}),
             ("cart-1", {"container_id": f"cri-o://{app}"}), ("cart-1", {"container_id": container_id("cart-1", "migrate")}),
             ("cart-1", {"container_id": container_id("cart-1", "debugger")}), ("db-0", {"container_id": container_id("db-0", "app")}),
             ("db-0", {"k8s_pod_ip": "fd00::5"}), ("db-0", {"k8s_pod_ip": "fd00:0:0::0:5"}), ("cart-1", {"host_name": "10.0.0.1"}),
             ("agent", {"k8s_pod_uid": uid_of("Pod", "shop", "agent")}), ("agent", {"container_id": container_id("agent", "app")}),
             (None, {"k8s_pod_ip": "127.0.0.3"}), (None, {"host_name": "cart-1"}), (None, {"k8s_pod_uid": "none-of-ours"}),
             (None, {"container_id": ""}), (None, {"k8s_pod_ip": "not an address"})]
    with Cluster(folder) as c:
        for wanted, resource in cases:
            assert c.ask.describe(**resource).get("k8s.pod.name") == wanted, resource


def test_one_may_say_how(folder):
    association = [{"sources": [{"from": "resource_attribute", "name": "k8s.namespace.name"}, {"from": "resource_attribute", "name": "k8s.pod.name"}]},
                   {"sources": [{"from": "connection"}]}]
    with Cluster(folder, pod_association=association) as c:
        got = c.ask.describe(k8s_pod_name="cart-1", k8s_namespace_name="shop")
        assert got["k8s.pod.uid"] == uid_of("Pod", "shop", "cart-1")
        assert "k8s.pod.uid" not in c.ask.describe(k8s_pod_name="cart-1", k8s_namespace_name="other")
        assert c.ask.describe(k8s_pod_name="cart-1", source="127.0.0.2")["k8s.pod.uid"] == uid_of("Pod", "shop", "cart-2")
        assert "k8s.pod.uid" not in c.ask.describe(k8s_pod_ip="10.0.0.1")


def test_what_stands_there_stays(folder):
    with Cluster(folder) as c:
        got = c.ask.describe(k8s_pod_ip="10.0.0.1", k8s_node_name="mine", k8s_deployment_name="")
        assert got["k8s.node.name"] == "mine" and got["k8s.namespace.name"] == "shop"
        assert got["k8s.deployment.name"] == "cart", "what is empty says nothing"


def test_what_is_asked_for(folder):
    extract = {"metadata": ["k8s.pod.name", "k8s.container.name", "container.image.name", "container.image.tag", "k8s.node.uid", "k8s.cluster.uid",
                            "k8s.replicaset.name", "k8s.deployment.uid", "k8s.statefulset.name", "k8s.pod.ip"],
               "labels": [{"key": "tier"}, {"tag_name": "zone", "key": "zone", "from": "node"}, {"tag_name": "stage", "key": "stage", "from": "namespace"},
                          {"tag_name": "label.$1", "key_regex": "app.kubernetes.io/(.*)", "from": "pod"}, {"key": "team", "from": "deployment"}],
               "annotations": [{"tag_name": "cost", "key": "cost", "from": "namespace"}, {"tag_name": "owner", "key": "owner", "from": "deployment"}]}
    with Cluster(folder, extract=extract) as c:
        got = c.ask.describe(container_id=container_id("cart-1", "proxy"))
        assert got == {
            "container.id": container_id("cart-1", "proxy"), "k8s.pod.name": "cart-1", "k8s.pod.ip": "10.0.0.1", "k8s.container.name": "proxy",
            "container.image.name": "registry:5000/shop/app", "container.image.tag": "1.2.3", "k8s.node.uid": uid_of("Node", "", "node-1"),
            "k8s.cluster.uid": uid_of("Namespace", "", "kube-system"), "k8s.replicaset.name": "cart-7d4b9c6f5",
            "k8s.deployment.uid": uid_of("Deployment", "shop", "cart"), "k8s.pod.labels.tier": "back", "zone": "eu-1a", "stage": "prod",
            "label.name": "cart", "label.version": "v7", "k8s.deployment.label.team": "orders", "cost": "17", "owner": "ann"}, got
        assert c.ask.describe(k8s_pod_ip="fd00::5")["k8s.statefulset.name"] == "db"
        assert not c.api.asked("jobs") and not c.api.asked("daemonsets"), "nobody asked for these"


def test_names_of_services(folder):
    extract = {"metadata": ["service.name", "service.namespace", "service.version", "service.instance.id"], "otel_annotations": True}
    with Cluster(folder, extract=extract) as c:
        got = c.ask.describe(container_id=container_id("cart-1", "app"))
        assert (got["service.name"], got["service.namespace"], got["service.version"]) == ("cart", "shop", "v7")
        assert got["service.instance.id"] == "shop.cart-1.app"
        got = c.ask.describe(k8s_pod_ip="fd00::5")
        assert got["service.name"] == "database" and got["team"] == "storage", got
        assert c.ask.describe(k8s_pod_ip="10.0.0.1", service_name="mine")["service.name"] == "mine"


def test_only_what_is_needed_is_watched(folder):
    with Cluster(folder, extract={"metadata": ["k8s.pod.name"]}) as c:
        c.ask.describe(source="127.0.0.2")
        assert {r.plural for r in c.api.asked()} == {"pods"}


def test_two_processors_share_a_watch(folder):
    """Of what either of them needs."""
    with Api() as api, Sink() as sink:
        api.put(*shop())
        common = {"auth_type": "kubeConfig", "kubeconfig": kubeconfig(folder / "kubeconfig", api.endpoint, {"token": "first-token"}),
                  "wait_for_metadata": True}
        text = json.loads(relay_config(sink, {**common, "extract": {"metadata": ["k8s.pod.name"], "labels": [{"key": "tier"}]}}))
        text["processors"]["k8sattributes/second"] = {**common, "extract": {"metadata": ["k8s.node.uid"]}}
        text["service"]["pipelines"]["profiles"]["processors"].append("k8sattributes/second")
        with Relay(json.dumps(text), folder) as relay:
            got = Asker(relay, sink).describe(k8s_pod_ip="10.0.0.1")
            assert got == {"k8s.pod.ip": "10.0.0.1", "k8s.pod.name": "cart-1", "k8s.pod.labels.tier": "back", "k8s.node.uid": uid_of("Node", "", "node-1")}
            assert sorted(r.plural for r in api.asked(verb="list")) == ["nodes", "pods"]


def test_what_is_counted(folder):
    with Cluster(folder) as c:
        for address in ("10.0.0.1", "10.0.0.1", "10.99.0.1"):
            c.ask.describe(k8s_pod_ip=address)
        c.ask.describe(container_id="unknown")
        counted = [c.relay.metric("otelcol_k8s_pod_association", status=s, pod_identifier=i) for s, i in (
            ("success", "resource_attribute:k8s.pod.ip"), ("error", "resource_attribute:k8s.pod.ip"), ("error", "resource_attribute:container.id"))]
        assert counted == [2, 1, 1], c.relay.metrics()["otelcol_k8s_pod_association"]
        assert c.relay.metric("profrelay_kubernetes_objects", kind="pods") == len(c.api.objects.now["pods"])
        assert c.relay.metric("profrelay_kubernetes_requests", kind="pods", outcome="ok") >= 1
        assert 0 < c.relay.metric("profrelay_kubernetes_bytes") < 50_000


def test_who_does_not_want_it(folder):
    with Cluster(folder, exclude={"pods": [{"name": "cart-2"}]}) as c:
        assert "k8s.pod.name" not in c.ask.describe(k8s_pod_ip="10.0.0.9"), "its annotation says so"
        assert "k8s.pod.name" not in c.ask.describe(source="127.0.0.2")
        assert "k8s.pod.name" in c.ask.describe(k8s_pod_ip="10.0.0.1")


def test_passthrough(folder):
    with Cluster(folder, wait=False, passthrough=True, wait_for_metadata=False) as c:
        assert c.ask.describe(source="127.0.0.2") == {"k8s.pod.ip": "127.0.0.2"}
        assert c.ask.describe(source="127.0.0.2", k8s_pod_ip="10.0.0.1") == {"k8s.pod.ip": "10.0.0.1"}
        assert not c.api.asked()


def test_a_profile_or_a_sample_says_who_it_is(folder):
    with Cluster(folder) as c:
        got = c.ask.describe(profile={"container.id": container_id("cart-1", "app")})
        assert got["k8s.pod.name"] == "cart-1"


def test_pods_come_change_and_go(folder):
    with Cluster(folder, extract={"metadata": ["k8s.pod.name"], "labels": [{"key": "tier"}]}, pod_delete_grace_period="1ms") as c:
        c.api.put(pod("new", ip="10.0.0.77", labels={"tier": "a"}))
        c.ask.wait_name("new", k8s_pod_ip="10.0.0.77")
        c.api.put(pod("new", ip="10.0.0.77", labels={"tier": "b"}))
        c.ask.wait_described(lambda a: a.get("k8s.pod.labels.tier") == "b", "the new label", k8s_pod_ip="10.0.0.77")
        c.api.delete(pod("new", ip="10.0.0.77"))
        c.ask.wait_name(None, k8s_pod_ip="10.0.0.77")
        assert len(c.api.asked("pods", "list")) == 1


def test_an_address_is_used_again(folder):
    with Cluster(folder) as c:
        before, now = time.time_ns() - 30 * 10**9, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        c.api.delete(pod("cart-1"))
        c.api.put(pod("heir", ip="10.0.0.1", start=now))
        c.ask.wait_name("heir", k8s_pod_ip="10.0.0.1")
        assert c.ask.describe(k8s_pod_ip="10.0.0.1", time_nanos=before)["k8s.pod.name"] == "cart-1"
        uid = uid_of("Pod", "shop", "cart-1")
        assert c.ask.describe(k8s_pod_uid=uid)["k8s.pod.name"] == "cart-1", "what is on its way still finds it"


# -- the agent on each node --

HOST_PODS = 40


def host_wide():
    return [pod(f"p{i}", node="node-1" if i % 4 else "node-2", ip=f"10.9.{i}.1", containers=("a", "b")) for i in range(HOST_PODS)]


def test_a_host_wide_profile_is_split(folder):
    chance = random.Random(5)
    samples = []
    for _ in range(3000):
        name = f"p{chance.randrange(HOST_PODS)}"
        attributes = {"container.id": container_id(name, chance.choice("ab")), "thread.name": f"t{chance.randrange(4)}"}
        if chance.random() < 0.2:
            attributes = {"thread.name": "kernel"}
        samples.append((attributes, chance.randrange(1, 10**6)))
    with Cluster(folder, objects=host_wide(), filter={"node_from_env_var": "NODE_NAME"}, env={"NODE_NAME": "node-1"}) as c:
        assert all("spec.nodeName=node-1" in r.query.get("fieldSelector", "") for r in c.api.asked("pods")), c.api.asked("pods")
        groups, body = c.ask.groups_of(Part({"host.name": "node-1"}, samples))
        assert samples_of(groups) == samples_of(otlp.decode(body)), "samples were lost, made or changed"
        by_name = {}
        for g in groups:
            by_name.setdefault(g.resource.get("k8s.pod.name"), []).append(g)
        assert set(by_name) == {None, *(f"p{i}" for i in range(HOST_PODS) if i % 4)}, sorted(map(str, by_name))
        owner = {container_id(f"p{i}", x): f"p{i}" for i in range(HOST_PODS) if i % 4 for x in "ab"}
        wanted = {}
        for attributes, value in samples:
            name = owner.get(attributes.get("container.id"))
            wanted[name] = wanted.get(name, 0) + value
        got = {name: sum(s["values"][0] for g in some for p in g.profiles for s in p["samples"]) for name, some in by_name.items()}
        assert got == wanted
        assert all(g.resource.get("host.name") == "node-1" for g in groups)


def test_the_node_is_not_named(folder):
    with Api() as api, Sink() as sink:
        text = relay_config(sink, {"auth_type": "none", "filter": {"node_from_env_var": "NO_SUCH_NAME"}})
        (folder / "c.yaml").write_text(text)
        done = run("--config", folder / "c.yaml", env={"KUBECONFIG": "/nonexistent"})
        assert done.returncode == 1 and "NO_SUCH_NAME" in done.stderr, done.stderr
        assert not api.requests


def test_filters_are_the_servers_work(folder):
    filters = {"namespace": "shop", "node": "node-1", "labels": [{"key": "tier", "value": "back", "op": "equals"}, {"key": "old", "op": "does-not-exist"}],
               "fields": [{"key": "status.phase", "value": "Failed", "op": "not-equals"}]}
    with Cluster(folder, filter=filters) as c:
        asked = c.api.asked("pods", "list")[0]
        assert asked.namespace == "shop"
        assert set(asked.query["fieldSelector"].split(",")) == {"spec.nodeName=node-1", "status.phase!=Failed"}
        assert set(asked.query["labelSelector"].replace("==", "=").split(",")) == {"tier=back", "!old"}
        assert c.ask.describe(k8s_pod_ip="10.0.0.1")["k8s.pod.name"] == "cart-1"
        assert "k8s.pod.name" not in c.ask.describe(source="127.0.0.2"), "it is on another node"


# -- in the pod itself --

def podinfo(folder, version, **labels):
    """As the kubelet mounts it: the files are links into a folder that is exchanged as a whole."""
    at = folder / "podinfo"
    data = at / f"..{version}"
    data.mkdir(parents=True)
    (data / "labels").write_text("".join(f'{k.replace("_", "-")}="{v}"\n' for k, v in labels.items()))
    (data / "annotations").write_text('kubernetes.io/config.seen="2026"\nnote="two\\nlines and \\"quotes\\""\n')
    (at / "..new").symlink_to(data.name)
    (at / "..new").rename(at / "..data")
    for name in ("labels", "annotations"):
        if not (at / name).exists():
            (at / name).symlink_to(f"..data/{name}")
    return at


def test_a_sidecar_needs_no_api(folder):
    at = podinfo(folder, 1, tier="back", example_team="orders")
    settings = {"auth_type": "none", "downward": {"labels_file": str(at / "labels"), "annotations_file": str(at / "annotations"), "refresh_interval": "200ms"},
                "extract": {"metadata": ["k8s.pod.name", "k8s.namespace.name", "k8s.pod.uid", "k8s.node.name", "k8s.pod.ip", "k8s.container.name"],
                            "labels": [{"key": "tier"}, {"key": "example-team", "tag_name": "team"}], "annotations": [{"key": "note", "tag_name": "note"}]}}
    env = {"POD_NAME": "cart-1", "POD_NAMESPACE": "shop", "POD_UID": "u-1", "POD_IP": "10.0.0.1", "NODE_NAME": "node-1", "CONTAINER_NAME": "app"}
    with Sink() as sink, Relay(relay_config(sink, settings), folder, env=env) as relay:
        ask = Asker(relay, sink)
        wanted = {"k8s.pod.name": "cart-1", "k8s.namespace.name": "shop", "k8s.pod.uid": "u-1", "k8s.node.name": "node-1", "k8s.pod.ip": "10.0.0.1",
                  "k8s.container.name": "app", "k8s.pod.labels.tier": "back", "team": "orders", "note": 'two\nlines and "quotes"'}
        assert ask.describe() == wanted, ask.describe()
        podinfo(folder, 2, tier="front", example_team="orders")
        ask.wait_described(lambda a: a.get("k8s.pod.labels.tier") == "front", "the new label")


# -- at the start --

def test_it_waits_for_what_it_needs(folder):
    with Api() as api, Sink() as sink:
        api.put(*shop())
        api.script(kube_api.hold(), plural="pods", verb="list")
        found = []
        t = threading.Thread(target=lambda: found.append(start(folder, sink, api, wait_for_metadata=True, wait_for_metadata_timeout="60s")), daemon=True)
        t.start()
        api.wait_holding()
        assert not found, "it listens before it knows anything"
        api.release()
        t.join(60)
        with found[0] as relay:
            assert Asker(relay, sink).describe(source="127.0.0.2")["k8s.pod.name"] == "cart-2", "the first one is right"


def test_it_does_not_wait_for_ever(folder):
    with Api() as api, Sink() as sink:
        api.script(then=kube_api.hold())
        (folder / "c.yaml").write_text(relay_config(sink, {"auth_type": "kubeConfig", "wait_for_metadata": True, "wait_for_metadata_timeout": "300ms"}))
        path = kubeconfig(folder / "kubeconfig", api.endpoint, {"token": "first-token"})
        done = run("--config", folder / "c.yaml", env={"KUBECONFIG": path})
        assert done.returncode == 1 and "wait_for_metadata" in done.stderr and "300" in done.stderr, done.stderr


def test_without_waiting_the_first_ones_pass_as_they_are(folder):
    with Cluster(folder, wait=False, wait_for_metadata=False, api=Api(tokens=None)) as c:
        c.ask.wait_name("cart-2", source="127.0.0.2")

