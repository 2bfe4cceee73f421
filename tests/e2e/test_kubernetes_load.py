# SPDX-License-Identifier: Apache-2.0
"""A cluster of 5,000 pods on the release build: what the first list takes, and what stays."""
import os
from pathlib import Path

from support import Skip, kube_api
from support.kube import Asker, start
from support.kube_api import Api
from support.kube_authority import Authority
from support.kube_objects import deployment_of, pod, realistic, thing, uid_of
from support.load import PROGRAM
from support.sink import Sink

PODS, WORKLOADS = 5000, 250
FIRST_LIST_MAX, STEADY_MAX = 25 << 20, 2 << 10  # bytes; of one pod
# More than the default: two labels of each pod are kept, and its owners are watched.
EXTRACT = {"metadata": ["k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid", "k8s.node.name", "k8s.deployment.name", "k8s.deployment.uid", "container.id",
                        "service.name"],
           "labels": [{"key": "app.kubernetes.io/name"}, {"key": "team", "from": "deployment"}]}


def large():
    """5,000 pods as they are in a real cluster: of 250 deployments, on 100 nodes."""
    owners = [deployment_of(f"service-{i}", labels={"team": f"t{i % 9}"}) for i in range(WORKLOADS)]
    pods = [realistic(pod(
        f"service-{i % WORKLOADS}-7d4b9c6f5-{i:05d}", node=f"node-{i % 100}", ip=f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}",
        owner=owners[i % WORKLOADS][1], labels={"app.kubernetes.io/name": f"service-{i % WORKLOADS}"},
        annotations={"prometheus.io/scrape": "true", "checksum/config": "8" * 64})) for i in range(PODS)]
    return [thing("Namespace", "shop"), *(thing("Node", f"node-{i}") for i in range(100)), *(o for pair in owners for o in pair), *pods]


def memory(relay, key):
    text = Path(f"/proc/{relay.pid}/status").read_text()
    return int(text.split(key + ":")[1].split()[0]) << 10


def test_five_thousand_pods(folder):
    if not PROGRAM.is_file():
        raise Skip(f"{PROGRAM} is not there: ./dev build release")
    os.environ["PROFRELAY"] = str(PROGRAM)  # a file of tests runs in a process of its own
    authority = Authority(folder)
    api = Api(tls=authority.server())
    api.put(*large())
    for plural in kube_api.KINDS:
        for one in api.objects.now[plural].values():
            api.objects.encoded(one, plural != "pods", listed=True)  # the server's own work is not what is measured
    api.script(kube_api.hold(), plural="pods", verb="list")
    with api, Sink() as sink:
        trusted = {"certificate-authority": str(authority.certificate)}
        with start(folder, sink, api, cluster=trusted, extract=EXTRACT, wait_for_metadata=False) as relay:
            ask = Asker(relay, sink)
            api.wait_holding()
            ask.describe(k8s_pod_ip="10.9.9.9")  # what a first delivery takes is there before
            before = memory(relay, "VmRSS")
            Path(f"/proc/{relay.pid}/clear_refs").write_text("5")  # VmHWM begins anew
            api.release()
            api.wait_watching("pods")
            last = PODS - 1
            ask.wait_name(f"service-{last % WORKLOADS}-7d4b9c6f5-{last:05d}", k8s_pod_ip=f"10.0.{last >> 8}.{last & 255}")
            peak, after = memory(relay, "VmHWM") - before, memory(relay, "VmRSS") - before
            sent = sum(r.sent for r in api.asked("pods", "list"))
            print(f"{PODS} pods, {sent >> 10} KiB: {peak >> 10} KiB more at the most, {after >> 10} KiB after it: {after // PODS} bytes a pod")
            assert peak < FIRST_LIST_MAX, peak
            assert after < STEADY_MAX * PODS, after
            churn(api, ask)
            again = memory(relay, "VmRSS") - before
            print(f"after {PODS} changes: {again >> 10} KiB")
            assert again < STEADY_MAX * PODS, again
            assert api.most_in(1.0) <= 20


def churn(api, ask):
    """Every pod changes once."""
    pods = list(api.objects.now["pods"].values())
    for i in range(0, PODS, 50):
        api.put(*({**one, "metadata": {**one["metadata"], "annotations": {"changed": "true"}}} for one in pods[i:i + 50]))
    api.put(pod("last-of-all", ip="10.200.0.1"))
    ask.wait_name("last-of-all", k8s_pod_ip="10.200.0.1")
    assert ask.describe(k8s_pod_uid=uid_of("Pod", "shop", "last-of-all"))["k8s.pod.name"] == "last-of-all"
