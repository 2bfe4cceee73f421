# SPDX-License-Identifier: Apache-2.0
"""The example's profiles: a shop's CPU and heap, and a worker's CPU, as their runtimes would write them."""
import gzip
import time

from support.pprof_make import Strings, block, number, packed

# stack (root first) -> values, labels
SHOP_CPU = ("cpu", [("samples", "count"), ("cpu", "nanoseconds")], [
    ("main serve handle_cart load_cart parse_json", (42, 420_000_000), {"endpoint": "/cart"}),
    ("main serve handle_cart load_cart read_socket", (11, 110_000_000), {"endpoint": "/cart"}),
    ("main serve handle_pay sign_request sha256_block", (27, 270_000_000), {"endpoint": "/pay"}),
    ("main serve handle_pay write_socket", (5, 50_000_000), {"endpoint": "/pay"}),
    ("main collect_garbage mark", (15, 150_000_000), {}),
])
SHOP_HEAP = ("space", [("alloc_objects", "count"), ("alloc_space", "bytes")], [
    ("main serve handle_cart load_cart parse_json", (1200, 614_400), {}),
    ("main serve handle_cart load_cart read_socket", (40, 2_621_440), {}),
    ("main load_catalogue read_file", (3, 50_331_648), {}),
])
WORKER_CPU = ("cpu", [("samples", "count"), ("cpu", "nanoseconds")], [
    ("main run_jobs resize_image interpolate", (88, 880_000_000), {"job": "thumbnail"}),
    ("main run_jobs send_mail render_template", (12, 120_000_000), {"job": "mail"}),
])
FILES = {"shop/cpu.pb.gz": SHOP_CPU, "shop/heap.pb.gz": SHOP_HEAP, "worker/cpu.pb.gz": WORKER_CPU}


def profile(period_type, types, stacks):
    """One pprof file; the newest moment is now, as backends drop what is old."""
    strings, functions = Strings(), {}

    def pair(field, name, unit):
        return block(field, number(1, strings(name)) + number(2, strings(unit)))

    body = b"".join(pair(1, *t) for t in types)
    for stack, values, labels in stacks:
        ids = [functions.setdefault(name, len(functions) + 1) for name in reversed(stack.split())]
        tags = b"".join(block(3, number(1, strings(k)) + number(2, strings(v))) for k, v in labels.items())
        body += block(2, packed(1, ids) + packed(2, values) + tags)
    body += block(3, number(1, 1) + number(2, 0x400000) + number(3, 0x500000) + number(5, strings("/srv/app")))
    for name, i in functions.items():
        body += block(4, number(1, i) + number(2, 1) + number(3, 0x400000 + 64 * i) + block(4, number(1, i) + number(2, 10 * i)))
        body += block(5, number(1, i) + number(2, strings(name)) + number(3, strings(name)) + number(4, strings("app.c")))
    body += number(9, time.time_ns() - 10_000_000_000) + number(10, 10_000_000_000)
    body += pair(11, period_type, types[-1][1]) + number(12, 10_000_000) + strings.encode()
    return gzip.compress(body)


def write(folder):
    """Writes FILES below folder; returns their names."""
    for name, what in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name("." + path.name)
        part.write_bytes(profile(*what))
        part.rename(path)
    return list(FILES)
