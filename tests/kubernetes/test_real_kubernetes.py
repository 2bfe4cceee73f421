# SPDX-License-Identifier: Apache-2.0
"""profrelay and a real kube-apiserver, with the rights that docs/kubernetes.md gives it and no more."""
import calendar
import functools
import http.client
import json
import re
import sys
import tempfile
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
from real_api import RealApi, free_port  # noqa: E402
from support import ROOT, otlp  # noqa: E402
from support.kube import Asker, Part, kubeconfig, relay_config, samples_of  # noqa: E402
from support.kube_api import Api  # noqa: E402
from support.kube_objects import START, container_id, deployment_of, pod, thing, uid_of  # noqa: E402
from support.process import Relay  # noqa: E402
from support.setup import otlp_exporter  # noqa: E402
from support.sink import Sink  # noqa: E402

PAGE = (ROOT / "docs/kubernetes.md").read_text()
EXTRACTED = {"metadata": ["k8s.pod.name", "k8s.pod.uid", "k8s.deployment.name"]}
PAGES_OF_PODS = 1200
CART = "cart-7d4b9c6f5-1"
NIGHT = f"nightly-{calendar.timegm(time.strptime(START, '%Y-%m-%dT%H:%M:%SZ')) // 60}"  # as a CronJob names its jobs
keep = []  # the cluster's folder


def blocks(*words):
    """The page's manifests that have all of these words, as objects."""
    found = [b for b in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if "service:" not in b and all(w in b for w in words)]
    assert len(found) == 1, f"{len(found)} blocks of the page have {words}"
    return [one for one in yaml.safe_load_all(found[0])]


def page_config(words, folder, sink, **processor):
    """A configuration of the page as it stands, but for addresses and the folder of the account: (its text, the arguments)"""
    found = [b for b in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if "service:" in b and words in b]
    assert len(found) == 1, f"{len(found)} configurations of the page have {words!r}"
    free = {"endpoint": "127.0.0.1:0"}
    metrics = {"readers": [{"pull": {"exporter": {"prometheus": {"host": "localhost", "port": 0}}}}]}
    path = folder / "over.yaml"
    path.write_text(json.dumps({"receivers": {"otlp": {"protocols": {"grpc": free, "http": free}}}, "processors": {"k8s_attributes": processor},
                                "exporters": {"otlp_http": otlp_exporter(sink)}, "service": {"telemetry": {"metrics": metrics}}}))
    return found[0], ["--config", str(path)]


def rules_of_table():
    """What the page's table says: [(left cell, rule)]"""
    rows = re.findall(r"^\| (.*?) \| `(\{apiGroups.*?\})` \|$", PAGE, re.M)
    assert len(rows) == 7, rows
    return [(left, yaml.safe_load(rule)) for left, rule in rows]


@functools.lru_cache(maxsize=None)
def cluster():
    """One for all tests: with the page's account and its right to see pods, and a small shop."""
    keep.append(tempfile.TemporaryDirectory(prefix="profrelay-kubernetes-"))
    api = RealApi(Path(keep[0].name))
    for name in ("monitoring", "shop", "other"):
        api.create(thing("Namespace", name, labels={"stage": name}))
    for i in range(3):
        api.create(thing("Node", f"node-{i}", labels={"zone": f"z{i}"}))
    api.create(*blocks("kind: ClusterRole\n"))
    cart, cart_set = deployment_of("cart", labels={"team": "orders"})
    labels = {"app.kubernetes.io/version": "v7"}
    db = thing("StatefulSet", "db", "shop", labels={"team": "data"})
    agent = thing("DaemonSet", "agent", "shop", labels={"team": "ops"})
    once = thing("Job", NIGHT, "shop", labels={"team": "batch"}, owner=thing("CronJob", "nightly", "shop"))
    db["spec"] = {"serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": {
        "metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}
    once["spec"] = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    api.create(cart, cart_set, db, agent, once,
               pod(CART, ip="10.1.0.1", node="node-0", owner=cart_set, labels=labels, containers=("app", "proxy"), init=("migrate",)),
               pod("cart-7d4b9c6f5-2", ip="127.0.0.2", node="node-1", owner=cart_set, labels=labels),
               pod("agent-x", ip="127.0.0.3", node="node-0", owner=agent, host_network=True), pod("db-0", ip="fd00::5", node="node-0", owner=db),
               pod("once-x", ip="10.1.0.4", node="node-2", owner=once), pod("stranger", namespace="other", ip="10.1.0.5", node="node-0"))
    return api


def start(folder, sink, token=None, service_account=None, env=None, **processor):
    """profrelay with a kubeconfig, or as in a pod with the files of a service account."""
    api = cluster()
    (folder / "ca.crt").write_bytes(api.authority.certificate.read_bytes())
    env = dict(env or {})
    if service_account:
        settings = {"auth_type": "serviceAccount", "service_account_folder": str(service_account)}
        env.update(KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=str(api.port))
    else:
        token = token or api.token("monitoring", "profrelay")
        settings = {"auth_type": "kubeConfig"}
        env["KUBECONFIG"] = kubeconfig(folder / "kubeconfig", api.endpoint, {"token": token}, **{"certificate-authority": str(folder / "ca.crt")})
    text = relay_config(sink, {"wait_for_metadata": True, "wait_for_metadata_timeout": "60s", **settings, **processor})
    return Relay(text, folder, env=env)


def inside(folder, token):
    """What is mounted into a pod."""
    at = folder / "serviceaccount"
    at.mkdir()
    (at / "ca.crt").write_bytes(cluster().authority.certificate.read_bytes())
    (at / "namespace").write_text("monitoring")
    (at / "token").write_text(token)
    return at


def newcomer(ask, name, address):
    cluster().create(pod(name, ip=address, node="node-0"))
    ask.wait_name(name, k8s_pod_ip=address)


def test_what_the_page_permits_is_enough(folder):
    """In a pod, with the default settings: found by everything that may say who it is."""
    api = cluster()
    at = inside(folder, api.token("monitoring", "profrelay"))
    with Sink() as sink, start(folder, sink, service_account=at) as relay:
        ask = Asker(relay, sink)
        uid = api.uid("Pod", "shop", CART)
        got = ask.describe(container_id=container_id(CART, "proxy"))
        assert got.pop("container.image.name") == "registry:5000/shop/app" and got.pop("container.image.tag") == "1.2.3"
        assert got == {"container.id": container_id(CART, "proxy"), "k8s.pod.uid": uid, "k8s.pod.name": CART,
                       "k8s.namespace.name": "shop", "k8s.node.name": "node-0", "k8s.deployment.name": "cart",
                       "k8s.pod.start_time": "2026-11-30T08:00:00Z"}, got
        for name, resource in ((CART, {"k8s_pod_uid": uid}), (CART, {"k8s_pod_ip": "10.1.0.1"}),
                               (CART, {"container_id": "containerd://" + container_id(CART, "migrate")}),
                               ("cart-7d4b9c6f5-2", {"source": "127.0.0.2"}), (None, {"source": "127.0.0.3"}), ("db-0", {"k8s_pod_ip": "fd00::5"}),
                               ("stranger", {"host_name": "10.1.0.5"}), (None, {"k8s_pod_ip": "10.1.0.99"})):
            assert ask.describe(**resource).get("k8s.pod.name") == name, resource
        newcomer(ask, "newcomer", "10.1.1.1")
        api.change(pod("newcomer"), {"metadata": {"labels": {"a": "b"}}})
        assert not relay.log("forbid|403"), relay.tail()


def test_the_agent_of_a_node(folder):
    with Sink() as sink, start(folder, sink, env={"NODE_NAME": "node-0"}, filter={"node_from_env_var": "NODE_NAME"}) as relay:
        ask = Asker(relay, sink)
        ids = {"a": container_id(CART, "app"), "b": container_id("db-0", "app"), "c": container_id("agent-x", "app"),
               "elsewhere": container_id("cart-7d4b9c6f5-2", "app")}
        samples = [({"container.id": ids[x]}, i + 1) for i, x in enumerate(["a", "b", "c", "elsewhere", "a"] * 50)] + [({}, 7)]
        groups, body = ask.groups_of(Part({"host.name": "node-0"}, samples))
        assert samples_of(groups) == samples_of(otlp.decode(body))
        assert {g.resource.get("k8s.pod.name") for g in groups} == {None, CART, "db-0", "agent-x"}


def rows():
    """Of each row of the table: (words of it, what to extract, from whom, the attribute, its value)"""
    cart, night = {"k8s_pod_ip": "10.1.0.1"}, {"k8s_pod_ip": "10.1.0.4"}
    system = cluster().must("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
    labels = [("namespace", "stage", cart, "shop"), ("node", "zone", cart, "z0"), ("deployment", "team", cart, "orders"),
              ("statefulset", "team", {"k8s_pod_ip": "fd00::5"}, "data"), ("daemonset", "team", {"container_id": container_id("agent-x", "app")}, "ops"),
              ("job", "team", night, "batch")]
    uids = [("k8s.deployment.uid", cart, cluster().uid("Deployment", "shop", "cart")), ("k8s.node.uid", cart, cluster().uid("Node", "", "node-0")),
            ("k8s.cluster.uid", cart, system), ("k8s.cronjob.uid", night, uid_of("CronJob", "shop", "nightly"))]
    return [*((name, {"metadata": ["k8s.pod.name", name]}, who, name, value) for name, who, value in uids),
            *((f"from: {kind}", {"metadata": ["k8s.pod.name"], "labels": [{"tag_name": "got", "key": key, "from": kind}]}, who, "got", value)
              for kind, key, who, value in labels)]


def account(name, rules):
    """A new one with these rights; its token."""
    api = cluster()
    api.must("POST", "/api/v1/namespaces/monitoring/serviceaccounts", {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": name}})
    if rules:
        api.create(cluster_role(name, rules), {
            "kind": "ClusterRoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "monitoring"}]})
    return api.token("monitoring", name)


def test_each_row_of_the_table_is_enough(folder):
    """An account that may see pods and what the row says."""
    pods, rules = blocks("kind: ClusterRole\n")[1]["rules"], rules_of_table()
    for i, (words, extract, who, key, value) in enumerate(rows()):
        rule = next(rule for left, rule in rules if words in left)
        with Sink() as sink, start(subfolder(folder, i), sink, token=account(f"enough-{i}", [*pods, rule]), extract=extract) as relay:
            assert Asker(relay, sink).describe(**who).get(key) == value, words
            assert not relay.log("forbid"), relay.tail()


def test_each_row_of_the_table_is_needed(folder):
    """Without it (of two resources, without the last) the log says what is missing, and the rest works."""
    pods, rules = blocks("kind: ClusterRole\n")[1]["rules"], rules_of_table()
    for i, (words, extract, who, key, _) in enumerate(rows()):
        rule = next(rule for left, rule in rules if words in left)
        *rest, missing = rule["resources"]
        token = account(f"needed-{i}", [*pods, *([{**rule, "resources": rest}] if rest else [])])
        with Sink() as sink, start(subfolder(folder, i), sink, token=token, extract=extract, wait_for_metadata=False) as relay:
            said = relay.wait_line(f'apiGroups: .*"{missing}"')
            assert f'"{rule["apiGroups"][0]}"' in said and '"list", "watch"' in said, said
            found = Asker(relay, sink).wait_described(lambda a: "k8s.pod.name" in a, "pods, all the same", **who)
            assert key not in found, words


def test_what_stands_in_the_pod_needs_no_row(folder):
    owners = [f"k8s.{kind}.{x}" for kind in ("replicaset", "statefulset", "daemonset", "job") for x in ("name", "uid")]
    extract = {"metadata": ["k8s.node.name", "k8s.deployment.name", "k8s.cronjob.name", "service.name", *owners]}
    api, uid = cluster(), lambda kind, name: cluster().uid(kind, "shop", name)
    wanted = {"10.1.0.1": {"k8s.node.name": "node-0", "k8s.deployment.name": "cart", "k8s.replicaset.name": "cart-7d4b9c6f5", "service.name": "cart",
                           "k8s.replicaset.uid": uid("ReplicaSet", "cart-7d4b9c6f5")},
              "fd00::5": {"k8s.node.name": "node-0", "k8s.statefulset.name": "db", "k8s.statefulset.uid": uid("StatefulSet", "db"), "service.name": "db"},
              "10.1.0.4": {"k8s.node.name": "node-2", "k8s.job.name": NIGHT, "k8s.job.uid": uid("Job", NIGHT),
                           "k8s.cronjob.name": "nightly", "service.name": "nightly"}}
    with Sink() as sink, start(folder, sink, token=api.token("monitoring", "profrelay"), extract=extract) as relay:
        ask = Asker(relay, sink)
        for address, attributes in wanted.items():
            got = ask.describe(k8s_pod_ip=address)
            assert got == {"k8s.pod.ip": address, **attributes}, got
        assert not relay.log("forbid"), relay.tail()


def test_the_pages_containers_are_valid(folder):
    """The server itself judges them, strictly."""
    found = [yaml.safe_load(b) for b in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if b.startswith("containers:")]
    assert len(found) == 2
    for spec in found:
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fragment"}, "spec": spec}
        cluster().must("POST", "/api/v1/namespaces/shop/pods?dryRun=All&fieldValidation=Strict", body)


def test_the_pages_configurations_work(folder):
    api = cluster()
    account_files = {"service_account_folder": str(inside(folder, api.token("monitoring", "profrelay")))}
    env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port), "NODE_NAME": "node-0"}
    with Sink() as sink:
        text, arguments = page_config("node_from_env_var", folder, sink, **account_files)
        with Relay(text, folder, *arguments, env=env) as relay:
            groups, _ = Asker(relay, sink).groups_of(Part({}, [({"container.id": container_id(CART, "app")}, 1), ({}, 2)]))
            assert {g.resource.get("k8s.pod.name") for g in groups} == {CART, None}
        text, arguments = page_config("name: k8s.pod.ip", folder, sink, **account_files)
        with Relay(text, folder, *arguments, env=env) as relay:
            assert Asker(relay, sink).describe(source="127.0.0.2")["service.name"] == "cart"
        text, arguments = page_config("downward:", folder, sink, downward={"labels_file": str(folder / "labels"), "annotations_file": str(folder / "none")})
        (folder / "labels").write_text('example.com/team="orders"\n')
        (folder / "none").write_text("")
        with Relay(text, folder, *arguments, env={"POD_NAME": "me", "POD_NAMESPACE": "shop", "POD_UID": "u"}) as relay:
            assert Asker(relay, sink).describe() == {"k8s.pod.name": "me", "k8s.namespace.name": "shop", "k8s.pod.uid": "u", "team": "orders",
                                                     "service.name": "me"}


def subfolder(folder, name):
    path = folder / str(name)
    path.mkdir()
    return path


def cluster_role(name, rules):
    return {"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}, "rules": rules}


def test_rights_in_one_namespace(folder):
    token = account("narrow", [])
    role, binding = blocks("kind: Role\n")
    binding["subjects"][0]["name"] = "narrow"
    cluster().create(role, binding)
    with Sink() as sink, start(folder, sink, token=token, filter={"namespace": "shop"}) as relay:
        ask = Asker(relay, sink)
        assert ask.describe(k8s_pod_ip="10.1.0.1")["k8s.pod.name"] == CART
        assert "k8s.pod.name" not in ask.describe(k8s_pod_ip="10.1.0.5"), "that one is in another namespace"
        assert not relay.log("forbid"), relay.tail()


def test_no_rights_at_all(folder):
    with Sink() as sink, start(folder, sink, token=account("nobody", []), wait_for_metadata=False) as relay:
        said = relay.wait_line("pods.*verbs")
        assert "list" in said and "watch" in said, said
        assert "k8s.pod.name" not in Asker(relay, sink).describe(k8s_pod_ip="10.1.0.1")


def test_many_pods_in_pages(folder):
    api = cluster()
    api.create(thing("Namespace", "many"))
    api.create(*(pod(f"m{i}", namespace="many", ip=f"10.2.{i >> 8}.{i & 255}", node="node-2") for i in range(PAGES_OF_PODS)))
    with Sink() as sink, start(folder, sink, extract=EXTRACTED, pod_delete_grace_period="1ms") as relay:
        ask = Asker(relay, sink)
        for i in (0, 499, 500, 999, 1000, PAGES_OF_PODS - 1):
            assert ask.describe(k8s_pod_ip=f"10.2.{i >> 8}.{i & 255}")["k8s.pod.name"] == f"m{i}"
        api.delete(pod("m7", namespace="many"))
        ask.wait_name(None, k8s_pod_ip="10.2.0.7")


def test_history_is_forgotten(folder):
    """410 Gone: etcd was compacted and the server began anew while profrelay watched."""
    api = cluster()
    with Sink() as sink, start(folder, sink, extract=EXTRACTED, pod_delete_grace_period="1ms") as relay:
        ask = Asker(relay, sink)
        newcomer(ask, "short-lived", "10.1.2.1")
        stop_and_change(api, lambda: api.delete(pod("short-lived")), lambda: api.create(pod("unseen", ip="10.1.2.2", node="node-0")))
        ask.wait_name("unseen", k8s_pod_ip="10.1.2.2")
        ask.wait_name(None, k8s_pod_ip="10.1.2.1")
        newcomer(ask, "seen-again", "10.1.2.3")
        assert relay.metric("profrelay_kubernetes_relists", kind="pods") >= 2


def stop_and_change(api, *changes):
    """The changes happen behind profrelay's back: on another port, before all is compacted."""
    port = api.port
    api.crash()
    api.port = free_port()
    api.start()
    for change in changes:
        change()
    api.crash()
    api.port = port
    api.compact_and_restart()


def wait_outcome(relay, outcome):
    end = time.monotonic() + 60
    while not relay.metric("profrelay_kubernetes_requests", outcome=outcome):
        assert time.monotonic() < end, relay.metrics()["profrelay_kubernetes_requests"]


def test_a_token_that_expires(folder):
    """The file has a new one by then, as kubelet puts it there."""
    api = cluster()
    at = inside(folder, api.signed("monitoring", "profrelay", time.time() - 60 + 20))  # a minute late is still in time
    with Sink() as sink, start(folder, sink, service_account=at, extract=EXTRACTED) as relay:
        ask = Asker(relay, sink)
        newcomer(ask, "in-time", "10.1.3.1")
        old = (at / "token").read_text()
        end = time.monotonic() + 90
        while api.ask("GET", "/api/v1/pods?limit=1", token=old)[0] != 401:
            assert time.monotonic() < end, "the token does not expire"
        api.crash()
        api.start()  # whoever watched has to show himself again
        wait_outcome(relay, "unauthorized")
        assert ask.describe(k8s_pod_ip="10.1.3.1")["k8s.pod.name"] == "in-time", "what was known still serves"
        new = at / "token.new"
        new.write_text(api.token("monitoring", "profrelay"))
        new.rename(at / "token")
        newcomer(ask, "with-the-new-one", "10.1.3.2")
        assert not relay.log(re.escape(old[:40])), "a secret in the log"


def test_the_scripted_server_says_the_same(_):
    """What the other tests of Kubernetes trust, beside the real one."""
    api = cluster()
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"}
    api.compact_and_restart()
    with Api() as scripted:
        scripted.put(*(pod(f"x{i}") for i in range(4)), *deployment_of("cart"))

        def told(path, headers):
            connection = http.client.HTTPConnection("127.0.0.1", scripted.port, timeout=30)
            connection.request("GET", path, headers={"Authorization": "Bearer first-token", **headers})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        def shape(answer):
            status, body = answer
            items = body.get("items", [])
            return (status, body["kind"], body["apiVersion"], sorted(body["metadata"]), body.get("reason"), len(items),
                    items[0].get("kind") if items else None)
        for path, headers in (("/api/v1/namespaces/shop/pods?limit=2", {}), ("/apis/apps/v1/replicasets?limit=1", accept),
                              ("/api/v1/namespaces/shop/pods?limit=2&resourceVersionMatch=Exact&resourceVersion=1", {}), ("/api/v1/nodes/none", {})):
            real = api.ask("GET", path, headers=headers)
            if path.endswith("=1"):
                scripted.compact()
            said = told(path, headers)
            assert shape(real) == shape(said), f"{path}: {shape(real)}, {shape(said)}"
        assert api.ask("GET", "/api/v1/pods", token="wrong")[0] == told("/api/v1/pods", {"Authorization": "Bearer wrong"})[0] == 401
