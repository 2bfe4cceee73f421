# SPDX-License-Identifier: Apache-2.0
"""Export requests and pprof files through Google's protobuf runtime, with every index resolved."""
import functools
import gzip
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from support import ROOT, Skip

PROTO = ROOT / "proto"


@functools.lru_cache(maxsize=None)
def _messages():
    """{full name of a message: class}, from our .proto files compiled by protoc just now."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as e:
        raise Skip(f"no protobuf runtime for this python ({e}): apt-get install python3-protobuf") from e
    if not shutil.which("protoc"):
        raise Skip("no protoc: apt-get install protobuf-compiler")
    files = sorted(PROTO.glob("*.proto"))
    assert files, f"no .proto files in {PROTO}"
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"-I{PROTO}", f"-I{ROOT}", "--include_imports", f"--descriptor_set_out={out.name}",
                        *map(str, files)], check=True)
        described = descriptor_pb2.FileDescriptorSet.FromString(Path(out.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in described.file:
        pool.Add(file)
    make = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    names = [f"{file.package}.{m.name}".lstrip(".") for file in described.file for m in file.message_type]
    return {name: make(pool.FindMessageTypeByName(name)) for name in names}


def _message(name, field_name):
    """The message with that name and field: OTLP and pprof both have a Profile."""
    return next(c for full, c in _messages().items()
                if full.rpartition(".")[2] == name and field_name in c.DESCRIPTOR.fields_by_name)


@dataclass
class Group:
    """One scope of one resource."""
    resource: dict
    scope_name: str
    scope_attributes: dict
    profiles: list
    scope_version: str = ""

    @property
    def service(self):
        return self.resource.get("service.name", "")


def at(table, index, what):
    """Python would take a negative index; OTLP does not."""
    assert 0 <= index < len(table), f"{what} {index} of {len(table)}"
    return table[index]


class _Tables:
    def __init__(self, d):
        for name in ("mapping", "location", "function", "link", "string", "attribute", "stack"):
            assert len(getattr(d, name + "_table")) > 0, f"{name}_table is empty"
        self.strings = list(d.string_table)
        assert self.strings[0] == ""
        self.links = [(bytes(x.trace_id), bytes(x.span_id)) for x in d.link_table]
        self.attributes = [(self.text(a.key_strindex), self.value(a.value), self.text(a.unit_strindex))
                           for a in d.attribute_table]
        self.mappings = [(m.memory_start, m.memory_limit, m.file_offset, self.text(m.filename_strindex))
                         for m in d.mapping_table]
        self.functions = [(self.text(f.name_strindex), self.text(f.system_name_strindex),
                           self.text(f.filename_strindex), f.start_line) for f in d.function_table]
        self.locations = [self.location(x) for x in d.location_table]
        self.stacks = [tuple(at(self.locations, i, "location") for i in s.location_indices) for s in d.stack_table]

    def text(self, index):
        return at(self.strings, index, "string")

    def value(self, v):
        kind = v.WhichOneof("value")
        if kind is None:
            return None
        if kind == "array_value":
            return [self.value(x) for x in v.array_value.values]
        if kind == "kvlist_value":
            return self.plain(v.kvlist_value.values)
        if kind == "string_value_strindex":
            return self.text(v.string_value_strindex)
        return getattr(v, kind)

    def plain(self, attributes):
        out = {}
        for a in attributes:
            key = self.text(a.key_strindex) if a.key_strindex else a.key
            assert key and key not in out, f"attribute key {key!r}"
            out[key] = self.value(a.value)
        return out

    def set(self, indices):
        """{key: (value, unit)}"""
        out = {}
        for i in indices:
            key, value, unit = at(self.attributes, i, "attribute")
            assert key and key not in out, f"attribute key {key!r}"
            out[key] = (value, unit)
        return out

    def location(self, x):
        folded = self.set(x.attribute_indices).get("pprof.location.is_folded", (False, ""))[0]
        lines = tuple((*at(self.functions, n.function_index, "function"), n.line, n.column) for n in x.lines)
        mapping = at(self.mappings, x.mapping_index, "mapping") if x.mapping_index else None
        return (x.address, mapping, lines, folded)

    def sample(self, s):
        assert s.values or s.timestamps_unix_nano, "a sample with neither values nor timestamps"
        return {"stack": at(self.stacks, s.stack_index, "stack"), "values": tuple(s.values),
                "timestamps": tuple(s.timestamps_unix_nano), "attributes": self.set(s.attribute_indices),
                "link": at(self.links, s.link_index, "link") if s.link_index else None}

    def type(self, v):
        return (self.text(v.type_strindex), self.text(v.unit_strindex))

    def profile(self, p):
        return {"type": self.type(p.sample_type), "period_type": self.type(p.period_type), "period": p.period,
                "time": p.time_unix_nano, "duration": p.duration_nano, "attributes": self.set(p.attribute_indices),
                "profile_id": bytes(p.profile_id), "payload": (p.original_payload_format, bytes(p.original_payload)),
                "samples": [self.sample(s) for s in p.samples]}


def parse(body):
    """The ExportProfilesServiceRequest itself."""
    return _message("ExportProfilesServiceRequest", "dictionary").FromString(body)


def decode(body):
    """The groups of an ExportProfilesServiceRequest."""
    request = parse(body)
    t = _Tables(request.dictionary)
    return [Group(t.plain(r.resource.attributes), s.scope.name, t.plain(s.scope.attributes),
                  [t.profile(p) for p in s.profiles], s.scope.version)
            for r in request.resource_profiles for s in r.scope_profiles]


def decode_all(bodies):
    return [group for body in bodies for group in decode(body)]


def comments(group):
    """The pprof comments of a group's first profile, in either spelling."""
    attributes = group.profiles[0]["attributes"]
    value = attributes.get("pprof.profile.comment", ([], ""))[0]
    return value if isinstance(value, list) else [value]


def arrivals(bodies):
    """Counter of (service, first comment): which of pprof_make.write_numbered's files arrived how often."""
    return Counter((g.service, comments(g)[0]) for g in decode_all(bodies))


# -- pprof, for comparing --

# What becomes of a Link, and the attribute that says which label it was (docs/formats/pprof.md).
LINK_LABELS = {"trace_id", "span_id", "trace id", "span id", "profile_id", "pprof.link.label"}


def inflated(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def parse_pprof(data):
    """The pprof Profile itself."""
    return _message("Profile", "location").FromString(inflated(data))


def parse_push(body):
    """Of each series of a PushRequest: (labels, [profiles as they came]). A label must stand there once."""
    series = []
    for one in _message("PushRequest", "series").FromString(body).series:
        labels = [(x.name, x.value) for x in one.labels]
        assert labels == sorted(set(labels)) and len(dict(labels)) == len(labels), labels
        series.append((dict(labels), [x.raw_profile for x in one.samples]))
    return series


def read_pprof(data):
    """[{"type", "samples": Counter of (stack, value, labels)}] in the order of the sample types."""
    p = parse_pprof(data)
    strings = p.string_table
    mappings = {m.id: (m.memory_start, m.memory_limit, m.file_offset, strings[m.filename]) for m in p.mapping}
    by_position = not any(f.id for f in p.function)  # .NET's writer leaves the ids out
    functions = {f.id or by_position and i: (strings[f.name], strings[f.system_name], strings[f.filename], f.start_line)
                 for i, f in enumerate(p.function, 1)}
    zero = (0, 0, 0, "")
    locations = {}
    for x in p.location:
        lines = tuple((*functions[n.function_id], n.line, n.column) for n in x.line)
        mapping = mappings.get(x.mapping_id)
        locations[x.id] = (x.address, None if mapping == zero else mapping, lines, x.is_folded)
    out = [{"type": (strings[t.type], strings[t.unit]), "samples": Counter()} for t in p.sample_type]
    for s in p.sample:
        stack, labels = tuple(locations[i] for i in s.location_id), _pprof_labels(s.label, strings)
        for profile, value in zip(out, s.value):
            profile["samples"][(stack, value, labels)] += 1
    return out


def _pprof_labels(labels, strings):
    """Only what both sides say alike: one value per key, not made a link."""
    count = Counter(strings[x.key] for x in labels)
    found = ((strings[x.key], strings[x.str] if x.str else x.num, strings[x.num_unit]) for x in labels)
    return frozenset(x for x in found if count[x[0]] == 1 and x[0] not in LINK_LABELS and x[1] != "")


def _otlp_labels(attributes):
    return frozenset((k, v, unit) for k, (v, unit) in attributes.items()
                     if not isinstance(v, (list, dict)) and v is not None and k not in LINK_LABELS)


def _without_zero_mapping(stack):
    return tuple((a, None if m == (0, 0, 0, "") else m, n, f) for a, m, n, f in stack)


def samples_of(profile):
    """The same form as read_pprof's, from a decoded OTLP profile."""
    return Counter((_without_zero_mapping(s["stack"]), s["values"][0], _otlp_labels(s["attributes"]))
                   for s in profile["samples"])


def assert_same(pprof, group, name):
    """The group says what the pprof file says: types, stacks, values and labels."""
    want = {x["type"]: x["samples"] for x in read_pprof(pprof)}
    got = {x["type"]: samples_of(x) for x in group.profiles}
    assert want.keys() == got.keys(), f"{name}: types {sorted(want)} came as {sorted(got)}"
    for kind, samples in want.items():
        missing, extra = samples - got[kind], got[kind] - samples
        assert not missing and not extra, (f"{name} {kind}: {missing.total()} samples missing, {extra.total()} too many; "
                                           f"{str(list(missing)[:1])[:300]} / {str(list(extra)[:1])[:300]}")
