# SPDX-License-Identifier: Apache-2.0
"""pprof files of our own: small, seeded, the same bytes every time."""
import gzip
import random

TIME = 1_760_000_000_000_000_000


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, numbers):
    return block(field, b"".join(map(varint, numbers))) if numbers else b""


class Strings:
    def __init__(self):
        self.index = {"": 0}

    def __call__(self, text):
        return self.index.setdefault(text, len(self.index))

    def encode(self):
        return b"".join(block(6, s.encode()) for s in self.index)


def _mappings(strings, count):
    out = b""
    for i in range(count):
        body = (number(1, i + 1) + number(2, 0x400000 + i * 0x100000) + number(3, 0x480000 + i * 0x100000) +
                number(4, 0x1000 * i) + number(5, strings(f"/usr/lib/part{i}.so")) + number(6, strings(f"{i:040x}")) +
                number(7, 1) + number(8, 1) + number(9, i % 2))
        out += block(3, body)
    return out


def _functions(strings, count):
    out = b""
    for i in range(count):
        out += block(5, number(1, 10 + i) + number(2, strings(f"work_{i}")) + number(3, strings(f"_Z4work{i}")) +
                     number(4, strings(f"/src/file{i % 7}.c")) + number(5, i))
    return out


def _locations(rng, count, functions, mappings, inlined):
    out = b""
    for i in range(count):
        lines = 1 + (rng.randrange(3) if inlined else 0)
        body = number(1, 100 + i) + number(2, 1 + i % mappings if mappings else 0) + number(3, 0x400000 + 16 * i)
        for _ in range(lines):
            body += block(4, number(1, 10 + rng.randrange(functions)) + number(2, rng.randrange(1, 500)) +
                          number(3, rng.randrange(3)))
        out += block(4, body + number(5, i % 11 == 0))
    return out


def _odd_labels(strings, index):
    """What few writers write: several values for one key, links, numbers without unit, empty values."""
    def label(key, text="", value=0, unit=""):
        return block(3, number(1, strings(key)) + number(2, strings(text)) + number(3, value) + number(4, strings(unit)))

    return (label("tag", "a") + label("tag", f"b{index % 3}") + label("bytes", value=-5) +
            label("wait", value=index + 1, unit="ms") + label("wait", value=index + 2, unit="us") +
            label("trace_id", f"{index + 1:032x}") + label("span_id", f"{index + 1:016x}") + label("snowman", "\u2603"))


def _labels(strings, rng, index):
    text = number(1, strings("endpoint")) + number(2, strings(f"/api/{rng.randrange(20)}"))
    size = number(1, strings("size")) + number(3, index + 1) + number(4, strings("bytes"))
    return block(3, text) + block(3, size)


def _samples(strings, rng, o):
    out = bytearray()  # which grows in place
    for i in range(o["samples"]):
        stack = [100 + rng.randrange(o["locations"]) for _ in range(o["depth"])]
        out += block(2, packed(1, stack) + packed(2, [rng.randrange(1, 1 << 40) for _ in o["types"]]) +
                     (_labels(strings, rng, i) if o["labels"] else b"") +
                     (_odd_labels(strings, i) if o["odd_labels"] else b""))
    return bytes(out) * (2 if o["twice"] else 1)


DEFAULTS = {"samples": 20, "types": (("samples", "count"), ("cpu", "nanoseconds")), "labels": True,
            "odd_labels": False, "twice": False, "mappings": 2, "functions": 15, "locations": 30, "depth": 6,
            "inlined": True, "comments": (), "default_type": "", "drop_frames": "", "keep_frames": "", "doc_url": "",
            "time_nanos": TIME, "duration_nanos": 10_000_000_000, "period": 10_000_000,
            "period_type": ("cpu", "nanoseconds")}


def make(seed=0, compressed=True, **options):
    """One pprof file; the options are the keys of DEFAULTS."""
    o = {**DEFAULTS, **options}
    unknown = set(o) - set(DEFAULTS)
    assert not unknown, unknown
    rng, strings = random.Random(seed), Strings()

    def value_type(field, pair):
        return block(field, number(1, strings(pair[0])) + number(2, strings(pair[1])))

    body = b"".join(value_type(1, t) for t in o["types"]) + _samples(strings, rng, o) + _mappings(strings, o["mappings"])
    body += _locations(rng, o["locations"], o["functions"], o["mappings"], o["inlined"])
    body += _functions(strings, o["functions"])
    body += number(7, strings(o["drop_frames"])) + number(8, strings(o["keep_frames"]))
    body += number(9, o["time_nanos"]) + number(10, o["duration_nanos"]) + value_type(11, o["period_type"])
    body += number(12, o["period"]) + packed(13, [strings(c) for c in o["comments"]])
    body += number(14, strings(o["default_type"])) + number(15, strings(o["doc_url"])) + strings.encode()
    return gzip.compress(body, 1, mtime=0) if compressed else body


def write_numbered(folder, count, **options):
    """count files, no two alike; each says its own name in a comment."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"p{i:04d}" for i in range(count)]
    for i, name in enumerate(names):
        write(folder / f"{name}.pb.gz", make(seed=i, comments=(name,), **options))
    return names


def write(path, data):
    """Appears whole, under its own name."""
    part = path.with_name("." + path.name + ".part")
    part.write_bytes(data)
    part.rename(path)
