# SPDX-License-Identifier: Apache-2.0
"""Objects of a cluster as its API shows them; names decide everything that is random in a real one."""
import hashlib
import uuid

START = "2026-11-30T08:00:00Z"
REVISION, HASH = "7d4b9c6f5", "pod-template-hash"
API_VERSIONS = {"Pod": "v1", "Namespace": "v1", "Node": "v1", "ReplicaSet": "apps/v1", "Deployment": "apps/v1",
                "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1"}


def uid_of(*names):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(names)))


def container_id(*names):
    """Without a scheme, as profilers send it."""
    return hashlib.sha256("/".join(names).encode()).hexdigest()


def thing(kind, name, namespace=None, owner=None, labels=None, annotations=None, **more):
    """Any object; owner: another one."""
    meta = {"name": name, "uid": uid_of(kind, namespace or "", name), "creationTimestamp": START}
    if namespace:
        meta["namespace"] = namespace
    if labels:
        meta["labels"] = labels
    if annotations:
        meta["annotations"] = annotations
    if owner:
        meta["ownerReferences"] = [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                                    "uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}]
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": meta, **more}


def _status_of(pod_name, name, image, scheme):
    digest = hashlib.sha256(image.encode()).hexdigest()
    return {"name": name, "image": image, "imageID": f"{image.rpartition(':')[0]}@sha256:{digest}", "ready": True, "started": True,
            "restartCount": 0, "containerID": f"{scheme}{container_id(pod_name, name)}", "state": {"running": {"startedAt": START}}}


def pod(name, namespace="shop", node="node-1", ip=None, containers=("app",), init=(), ephemeral=(), image="registry:5000/shop/app:1.2.3",
        scheme="containerd://", host_network=False, phase="Running", start=START, **more):
    """containers, init, ephemeral: names. more: as in thing()."""
    def statuses(names):
        return [_status_of(name, c, image, scheme) for c in names]

    def specs(names):
        return [{"name": c, "image": image} for c in names]
    spec = {"nodeName": node, "containers": specs(containers)}
    status = {"phase": phase, "startTime": start, "containerStatuses": statuses(containers)}
    for key, names in (("initContainer", init), ("ephemeralContainer", ephemeral)):
        if names:
            spec[key + "s"], status[key + "Statuses"] = specs(names), statuses(names)
    if host_network:
        spec["hostNetwork"] = True
    if ip:
        status.update(podIP=ip, podIPs=[{"ip": ip}])
    owner = more.get("owner")
    if owner and owner["kind"] == "ReplicaSet":
        more["labels"] = {**owner["metadata"]["labels"], **more.get("labels", {})}
    return thing("Pod", name, namespace, spec=spec, status=status, **more)


def deployment_of(name, namespace="shop", revision=REVISION, **more):
    """A Deployment and its ReplicaSet."""
    top = thing("Deployment", name, namespace, **more)
    return top, thing("ReplicaSet", f"{name}-{revision}", namespace, owner=top, labels={HASH: revision})


def _managed(manager, fields, subresource=None):
    entry = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": START, "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {**entry, "subresource": subresource} if subresource else entry


def _env_fields(names):
    return {".": {}, **{f'k:{{"name":"{n}"}}': {".": {}, "f:name": {}, "f:value": {}} for n in names}}


def realistic(one):
    """The same pod with all that a pod of a real cluster drags along: 6 to 7 KB of JSON, most of it of no use to anybody."""
    names = [f"SETTING_{i}_OF_THE_APPLICATION" for i in range(12)]
    for c in one["spec"]["containers"]:
        c.update(env=[{"name": n, "value": f"value of {n.lower()}"} for n in names],
                 ports=[{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                 resources={"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "250m", "memory": "512Mi"}},
                 livenessProbe={"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
                                "successThreshold": 1, "failureThreshold": 3},
                 volumeMounts=[{"name": "kube-api-access-x7k2p", "readOnly": True,
                                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
                 terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File", imagePullPolicy="IfNotPresent")
    sources = [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
               {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
               {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}]
    one["spec"].update(
        volumes=[{"name": "kube-api-access-x7k2p", "projected": {"sources": sources, "defaultMode": 420}}], restartPolicy="Always",
        terminationGracePeriodSeconds=30, dnsPolicy="ClusterFirst", serviceAccountName="default", schedulerName="default-scheduler",
        securityContext={}, priority=0, enableServiceLinks=True, preemptionPolicy="PreemptLowerPriority",
        tolerations=[{"key": f"node.kubernetes.io/{t}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                     for t in ("not-ready", "unreachable")])
    one["status"].update(
        hostIP="10.0.0.1", hostIPs=[{"ip": "10.0.0.1"}], qosClass="Burstable",
        conditions=[{"type": t, "status": "True", "lastProbeTime": None, "lastTransitionTime": START}
                    for t in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")])
    container = {".": {}, "f:env": _env_fields(names), "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources":
                 {".": {}, "f:limits": {".": {}, "f:cpu": {}, "f:memory": {}}, "f:requests": {".": {}, "f:cpu": {}, "f:memory": {}}},
                 "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {}}
    meta = one["metadata"]
    meta["managedFields"] = [
        _managed("kube-controller-manager", {
            "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}}, "f:ownerReferences": {}},
            "f:spec": {"f:containers": {f'k:{{"name":"{c["name"]}"}}': container for c in one["spec"]["containers"]},
                       "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {}, "f:schedulerName": {}}}),
        _managed("kubelet", {"f:status": {"f:conditions": {f'k:{{"type":"{c["type"]}"}}': {
            ".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}} for c in one["status"]["conditions"]},
            "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:podIPs": {}, "f:startTime": {}}}, "status")]
    return one
