# SPDX-License-Identifier: Apache-2.0
"""Many clients at once: what is taken arrives, what is refused is told so, memory and speed stay where they were."""
from support.load import LoadSink, Relay, cpu_seconds, load, memory_bytes, relay_config, use_release

MIB = 1 << 20
SMALL, LARGE = 350, 60000  # samples: 26 KB, 2.9 MB
ROUNDS = 3  # other programs run beside: one good round is enough
UNLOADED = 8
RATE = 0.8  # of that of few clients
LONGEST_WAIT = 30  # seconds: of clients that are refused several times


def assert_polite(result):
    """Nothing but 200, 429 and 503 (OK, UNAVAILABLE, RESOURCE_EXHAUSTED)."""
    assert result["other"] == 0, result


def assert_arrived(relay, sink, taken, samples):
    relay.wait_metric("otelcol_exporter_sent_profile_samples", taken * samples)
    assert relay.metric("otelcol_exporter_sent_profile_samples") == taken * samples
    counts = sink.counts()
    assert counts["requests"] == taken, (counts, taken)
    return counts


def measured(relay, protocol, **options):
    """(what was seen, CPU seconds of the relay): the clients and the sink take their share of the same processors, and who
    was refused waits as it was told, so that time by the clock says little about the relay."""
    before = cpu_seconds(relay)
    result = load(relay, protocol, again=True, **options)
    assert_polite(result)
    assert result["unfinished"] == 0 and result["taken"] == options["requests"], result
    return result, cpu_seconds(relay) - before


def rate_holds(relay, protocol, connections, **options):
    """Takes turns between few and many clients. (all that was taken, the best ratio of the rates, what was seen)"""
    taken, seen, ratio = 0, [], 0
    for _ in range(ROUNDS):
        few, few_cpu = measured(relay, protocol, connections=UNLOADED, **options)
        many, many_cpu = measured(relay, protocol, connections=connections, **options)
        assert many["seconds"] < few["seconds"] / RATE + LONGEST_WAIT, (few, many)
        seen += [few, many, few_cpu, many_cpu]
        taken += few["taken"] + many["taken"]
        ratio = max(ratio, few_cpu / many_cpu)
        if ratio > RATE:
            break
    return taken, ratio, seen


def check_thousand(folder, protocol):
    use_release()
    with LoadSink() as sink, Relay(relay_config(sink, protocol, "128MiB"), folder) as relay:
        idle = memory_bytes(relay, "VmRSS")
        taken, ratio, seen = rate_holds(relay, protocol, 1000, requests=16000, samples=SMALL, compression="gzip")
        assert ratio > RATE, seen
        assert_arrived(relay, sink, taken, SMALL)
        assert memory_bytes(relay, "VmHWM") < 128 * MIB + 2 * idle
        assert relay.metric("profrelay_memory_used_bytes") == 0


def test_a_thousand_connections_over_http(folder):
    check_thousand(folder, "HTTP")


def test_a_thousand_connections_over_grpc(folder):
    check_thousand(folder, "gRPC")


def check_large(folder, protocol):
    use_release()
    with LoadSink() as sink, Relay(relay_config(sink, protocol, "256MiB"), folder) as relay:
        taken, ratio, seen = rate_holds(relay, protocol, 200, requests=200, samples=LARGE, compression="gzip")
        assert 2_800_000 < seen[0]["raw_bytes"] < 3_000_000, seen[0]
        counts = assert_arrived(relay, sink, taken, LARGE)
        assert protocol == "gRPC" or counts["samples"] == taken * LARGE, counts
        peak = memory_bytes(relay, "VmHWM")
        assert peak < 300 * MIB, f"{peak / MIB:.0f} MiB"
        assert ratio > RATE, seen


def test_two_hundred_large_bodies_over_http(folder):
    check_large(folder, "HTTP")


def test_two_hundred_large_bodies_over_grpc(folder):
    check_large(folder, "gRPC")


def test_what_does_not_fit_is_refused_politely(folder):
    """Clients that do not try again hear 429 or 503, and what they were told was taken arrives."""
    use_release()
    with LoadSink() as sink, Relay(relay_config(sink, "HTTP", "64MiB"), folder) as relay:
        result = load(relay, "HTTP", connections=200, requests=400, samples=LARGE, compression="gzip")
        assert_polite(result)
        assert result["taken"] > 0 and result["refused"] > 0, result
        assert_arrived(relay, sink, result["taken"], LARGE)
        assert memory_bytes(relay, "VmHWM") < 96 * MIB
