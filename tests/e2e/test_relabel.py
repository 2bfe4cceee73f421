# SPDX-License-Identifier: Apache-2.0
"""Relabelling from file to endpoint: what arrives, and what is counted."""
from support import otlp
from support.process import Relay, config
from support.setup import add, file_receiver, otlp_exporter
from support.sink import Sink


def through(folder, sink, processors, resources):
    """A pipeline over folder/NAME for each of resources (NAME: attributes)."""
    (folder / "storage").mkdir()
    receivers = {}
    for name, attributes in resources.items():
        (folder / name).mkdir()
        receivers[f"pprof/{name}"] = file_receiver(folder / name, name, resource_attributes=attributes)
    service = {"extensions": ["file_storage"],
               "pipelines": {"profiles": {"receivers": list(receivers), "processors": list(processors),
                                          "exporters": ["otlp_http"]}}}
    return config(receivers=receivers, processors=processors, exporters={"otlp_http": otlp_exporter(sink)},
                  extensions={"file_storage": {"directory": str(folder / "storage")}}, service=service)


def test_resources(folder):
    rules = [{"source_labels": ["__meta_process_exe"], "regex": ".*/([^/]+)", "target_label": "service_name",
              "replacement": "$${1}-svc"},
             {"regex": "__meta_.*", "action": "labeldrop"},
             {"source_labels": ["host_name"], "regex": "h2", "action": "drop"}]
    resources = {"a": {"__meta_process_exe": "/usr/bin/python3", "host.name": "h1"}, "b": {"host.name": "h2"}}
    with Sink() as sink:
        with Relay(through(folder, sink, {"relabel": {"rules": rules}}, resources), folder) as relay:
            add(folder / "b", "dropped")
            relay.wait_metric("otelcol_processor_incoming_items", 40)
            data = add(folder / "a", "kept")
            sink.wait_accepted(1)
            relay.wait_metric("otelcol_processor_outgoing_items", 40)
            assert relay.metric("otelcol_processor_incoming_items", processor="relabel") == 80
            assert relay.metric("otelcol_processor_outgoing_items", processor="relabel") == 40
        (group,) = otlp.decode_all(sink.accepted())
    assert group.resource == {"service.name": "python3-svc", "host.name": "h1"}, group.resource
    otlp.assert_same(data, group, "kept")


def test_samples(folder):
    rules = [{"source_labels": ["endpoint"], "regex": "/api/1.*", "action": "drop"},
             {"source_labels": ["service_name", "endpoint"], "separator": "", "target_label": "route"}]
    with Sink() as sink:
        text = through(folder, sink, {"relabel": {"level": "sample", "rules": rules}}, {"a": {"service.name": "svc"}})
        with Relay(text, folder):
            data = add(folder / "a", "one", samples=200)
            sink.wait_accepted(1)
        (group,) = otlp.decode_all(sink.accepted())
    for profile, before in zip(group.profiles, otlp.read_pprof(data)):
        kept = [labels for (_, _, labels), n in before["samples"].items() for _ in range(n)
                if not any(k == "endpoint" and v.startswith("/api/1") for k, v, _ in labels)]
        endpoints = sorted(v for labels in kept for k, v, _ in labels if k == "endpoint")
        assert 0 < len(endpoints) < 200
        assert sorted(s["attributes"]["endpoint"][0] for s in profile["samples"]) == endpoints
        assert all(s["attributes"]["route"][0] == "svc" + s["attributes"]["endpoint"][0] for s in profile["samples"])
        assert all(s["attributes"]["size"][1] == "bytes" for s in profile["samples"])
