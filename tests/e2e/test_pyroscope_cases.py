# SPDX-License-Identifier: Apache-2.0
"""What went wrong for others between Pyroscope's clients and servers."""
import gzip
import http.client
import threading

from support import otlp, pprof_make
from support.pprof_make import block, number
from test_pyroscope import SECONDS, Client, assert_status, only_group, running


def labelled(*labels):
    """A pprof of one sample with these labels, and nothing else."""
    strings = pprof_make.Strings()
    body = block(1, number(1, strings("cpu")) + number(2, strings("nanoseconds")))
    body += block(2, number(1, 1) + number(2, 7) + b"".join(block(3, number(1, strings(k)) + number(2, strings(v))) for k, v in labels))
    body += block(4, number(1, 1) + block(4, number(1, 1))) + block(5, number(1, 1) + number(2, strings("work")))
    return gzip.compress(body + number(9, pprof_make.TIME) + strings.encode())


def test_services_have_any_name(folder):
    names = ["ns/app", "app - env", "größe", "a.b-c_d:8080", "100%", "a+b"]

    def test(client, s, _):
        for i, name in enumerate(names):
            assert_status(client.ingest(name + "{tag=x y}", pprof_make.make(seed=i), format="pprof"), 200)
            assert_status(client.push(({"service_name": name, "__name__": "process_cpu", "tag": "x y"}, pprof_make.make(seed=100 + i))), 200)
        s.wait_accepted(2 * len(names))
        services = sorted(g.resource["service.name"] for g in otlp.decode_all(s.accepted()))
        assert services == sorted(2 * names), services

    running(folder, test)


def test_labels_have_any_name(folder):
    """Those that are alike once they are sanitised stay two here."""
    labels = [("process-description", "1"), ("a.b", "2"), ("a_b", "3"), ("span id", "4"), ("local root span id", "5")]

    def test(client, s, _):
        assert_status(client.ingest("app{" + ",".join(f"{k}={v}" for k, v in labels) + "}", labelled(*labels)), 200)
        group = only_group(s)
        assert {k: group.resource[k] for k, _ in labels} == dict(labels), group.resource
        (sample,) = group.profiles[0]["samples"]
        assert {k: sample["attributes"][k][0] for k, _ in labels} == dict(labels), sample

    running(folder, test)


def test_profiles_of_one_window_keep_their_own_times(folder):
    """Two that got the whole seconds of `from` were the same to a server, and one was lost."""
    times = [pprof_make.TIME + 1, pprof_make.TIME + 2]

    def test(client, s, _):
        for t in times:
            assert_status(client.ingest("app", pprof_make.make(time_nanos=t), format="pprof"), 200)
        s.wait_accepted(2)
        assert sorted({p["time"] for g in otlp.decode_all(s.accepted()) for p in g.profiles}) == times

    running(folder, test)


def test_two_hundred_clients_at_the_same_second(folder):
    """All send at once, twice on one connection: each is taken, or told when to come again."""
    count, results = 200, []
    start = threading.Barrier(count)

    def send(port, i):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        start.wait()
        for turn in range(2):
            connection.request("POST", f"/ingest?name=app{i}&from={SECONDS + turn}&format=folded", b"main;work 1\n")
            answer = connection.getresponse()
            results.append((answer.status, answer.headers["retry-after"], answer.read()))
        connection.close()

    def test(client, s, relay):
        threads = [threading.Thread(target=send, args=(client.port, i), daemon=True) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        taken = sum(status == 200 for status, _, _ in results)
        assert len(results) == 2 * count and taken > 0, (len(results), taken)
        assert all(status == 200 or (status == 503 and int(after) >= 1) for status, after, _ in results), results[:3]
        relay.wait_metric("otelcol_exporter_sent_profile_samples", taken)
        assert len(otlp.decode_all(s.accepted())) == taken

    running(folder, test)
