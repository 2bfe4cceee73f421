# SPDX-License-Identifier: Apache-2.0
"""What many clients send through all kinds of processors while the program ends and starts again, to a peer with bad
moments: what was acknowledged arrives exactly once. PROFRELAY_SOAK_SECONDS says how long they send.
"""
import http.client
import random
import threading
import time
from collections import Counter

from support import otlp, soak_seconds
from support.process import Relay, config
from support.setup import otlp_exporter
from support.sink import Sink, cut_after_body, status
from support.unix import UnixConnection
from test_batch import request
from test_otlp_receiver import PATH, PROTO

CLIENTS = 12
PAUSE_SECONDS = 0.04  # of a client between two requests
LIFE_SECONDS = 0.3, 1.2  # of a relay
UNNAMED = "unknown_service"
BAD, DROPPED = "service-that-the-peer-refuses", "service-that-is-dropped"
SERVICES = ("a", "b", "c", None, BAD, DROPPED)
# What keeps out, what changes and drops, what joins; the window is longer than clients wait.
PROCESSORS = {
    "memory_limiter": {"limit_mib": 256, "spike_limit_mib": 64},
    "rate_limit": {"limits": [{"attribute": "tenant", "profiles": 30, "burst": "500ms"}]},
    "service_name": {},
    "filter": {"level": "resource", "exclude": {"match_type": "strict", "services": [DROPPED]}},
    "aggregate": {"window": "5s", "max_samples": 100},
    "batch": {"timeout": "100ms", "send_batch_size": 60},
}


def relay_config(folder, sink):
    return config(receivers={"otlp": {"protocols": {"http": {"endpoint": f"unix:{folder}/s"}}}}, processors=PROCESSORS,
                  exporters={"otlp_http": otlp_exporter(sink, compression="none")},
                  service={"loops": 2, "pipelines": {"profiles": {
                      "receivers": ["otlp"], "processors": list(PROCESSORS), "exporters": ["otlp_http"]}}})


class Peer:
    """Refuses for good whatever has the bad service in it; else has a bad moment now and then."""

    def __init__(self):
        self.random, self.refused = random.Random(1), 0

    def __call__(self, came):
        if BAD.encode() in came.raw:
            self.refused += 1
            return status(400, "that service is not known here")
        if self.random.random() > 0.25:
            return None
        return self.random.choice([status(503), cut_after_body()])


class Client(threading.Thread):
    """Sends one request after the other, each with a stack of its own and one that all have; notes what it heard."""

    def __init__(self, number, path, stop):
        super().__init__(daemon=True)
        self.number, self.path, self.stop = number, path, stop
        self.heard = {}  # (service, name of the own stack): (status or None, value of the common stack)
        self.start()

    def run(self):
        choose = random.Random(self.number)
        while not self.stop.wait(PAUSE_SECONDS):
            service, value, own = choose.choice(SERVICES), choose.randrange(1, 1 << 40), f"c{self.number}-{len(self.heard)}"
            body = request(service, {"all": value, own: 7}, tenant=f"t{self.number % 3}")
            self.heard[service or UNNAMED, own] = self.post(body), value

    def post(self, body):
        connection = UnixConnection(self.path)
        try:
            connection.request("POST", PATH, body, PROTO)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):  # nobody is there, or has gone
            return None
        finally:
            connection.close()


def live_and_end(folder, sink, stop):
    """Relays one after the other while clients send; the number of them."""
    choose, end, lives = random.Random(2), time.monotonic() + soak_seconds(), 0
    while time.monotonic() < end:
        with Relay(relay_config(folder, sink), folder) as relay:
            stop.wait(choose.uniform(*LIFE_SECONDS))
            assert relay.terminate() == 0, relay.tail()
            assert not relay.log("could not be sent|giving up"), relay.tail()
        lives += 1
    return lives


def arrived(bodies):
    """({(service, function of a sample): how often}, {service: sum of the common stack})"""
    own, sums = Counter(), Counter()
    for group in otlp.decode_all(bodies):
        for sample in (s for p in group.profiles for s in p["samples"]):
            name, (value,) = sample["stack"][0][2][0][0], sample["values"]
            if name == "all":
                sums[group.service] += value
            else:
                assert value == 7, (group.service, name, value)
                own[group.service, name] += 1
    return own, sums


def test_what_was_acknowledged_arrives_once(folder):
    peer, stop = Peer(), threading.Event()
    with Sink(judge_whole=peer) as sink:
        clients = [Client(i, f"{folder}/s", stop) for i in range(CLIENTS)]
        try:
            lives = live_and_end(folder, sink, stop)
        finally:
            stop.set()
        for client in clients:
            client.join(60)
        own, sums = arrived(sink.accepted())
    heard = {key: told for client in clients for key, told in client.heard.items()}
    statuses = Counter(told[0] for told in heard.values())
    assert statuses.keys() <= {200, 429, 503, None}, statuses
    taken = {key for key, told in heard.items() if told[0] == 200 and key[0] not in (BAD, DROPPED)}
    assert lives > 1 and len(taken) > 50 and peer.refused, (lives, statuses)

    assert set(own.values()) == {1}, [key for key, n in own.items() if n > 1][:3]
    lost = taken - own.keys()
    assert not lost, f"{len(lost)} of {len(taken)} are lost: {sorted(lost)[:3]}"
    refused = {key for key in own if heard[key][0] not in (200, None)}
    assert not refused, f"{len(refused)} were refused and arrived: {sorted(refused)[:3]}"
    assert sums == sum((Counter({key[0]: heard[key][1]}) for key in own), Counter())
    assert {service for service, _ in own} == {"a", "b", "c", UNNAMED}
