# SPDX-License-Identifier: Apache-2.0
"""What an OTLP request says, in a few lines for people. Reads the wire format itself: the example needs no protobuf."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """{field number: [value, ...]} of one message; a value is an integer or bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(found, field):
    """A repeated number, packed or not."""
    out = []
    for value in found.get(field, []):
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return out


def attribute_text(found, strings):
    value = fields(found.get(2, [b""])[0])
    key = found[1][0].decode() if 1 in found else strings[found.get(3, [0])[0]]
    return key, next((v[0].decode() if isinstance(v[0], bytes) else str(v[0]) for n, v in value.items() if n in (1, 3)), "?")


class Request:
    def __init__(self, body):
        top = fields(body)
        tables = fields(top[2][0])
        self.resources = [fields(r) for r in top.get(1, [])]
        self.strings = [s.decode("utf-8", "replace") for s in tables.get(5, [])]
        self.locations = [fields(x) for x in tables.get(2, [])]
        self.functions = [fields(x) for x in tables.get(3, [])]
        self.stacks = [numbers(fields(x), 1) for x in tables.get(7, [])]

    def leaf(self, stack):
        """The name of a stack's innermost function."""
        for location in self.stacks[stack][:1]:
            for line in self.locations[location].get(3, [])[:1]:
                function = self.functions[fields(line).get(1, [0])[0]]
                return self.strings[function.get(1, [0])[0]]
        return "?"

    def profile(self, data):
        found, total, leaves = fields(data), 0, {}
        kind, unit = (fields(found.get(1, [b""])[0]).get(i, [0])[0] for i in (1, 2))
        samples = [fields(s) for s in found.get(2, [])]
        for sample in samples:
            value = sum(numbers(sample, 4))
            leaf = self.leaf(sample.get(1, [0])[0])
            total, leaves[leaf] = total + value, leaves.get(leaf, 0) + value
        top = max(leaves, key=leaves.get, default="?")
        name = f"{self.strings[kind]} ({self.strings[unit]})"
        share = 100 * leaves.get(top, 0) / total if total else 0
        return len(samples), f"{name:26} {len(samples):3} samples, total {total:>13,}, most in {top} ({share:.0f} %)"

    def lines(self):
        """(number of samples, text) of each resource and profile."""
        for resource in self.resources:
            attributes = [attribute_text(fields(a), self.strings) for a in fields(resource.get(1, [b""])[0]).get(1, [])]
            yield 0, ", ".join(f"{k}={v}" for k, v in sorted(attributes)) or "(no resource attributes)"
            for scope in resource.get(2, []):
                for data in fields(scope).get(2, []):
                    count, text = self.profile(data)
                    yield count, "   " + text
