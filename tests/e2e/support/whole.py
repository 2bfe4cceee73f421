# SPDX-License-Identifier: Apache-2.0
"""All of an export request as plain Python values: every field Google's runtime knows, every index resolved."""

# Fields that are indexes into a table of the dictionary.
TABLES = {"mapping_index": "mapping_table", "function_index": "function_table", "link_index": "link_table",
          "stack_index": "stack_table", "location_indices": "location_table", "attribute_indices": "attribute_table"}


class _Resolver:
    def __init__(self, dictionary):
        self.dictionary = dictionary
        self.known = {}

    def text(self, index):
        strings = self.dictionary.string_table
        if not index and not strings:
            return ""
        assert 0 <= index < len(strings), f"string {index} of {len(strings)}"
        return strings[index]

    def item(self, table, index):
        items = getattr(self.dictionary, table)
        if not index and not items:
            return {}
        assert 0 <= index < len(items), f"{table}: {index} of {len(items)}"
        if (table, index) not in self.known:
            self.known[table, index] = self.message(items[index])
        return self.known[table, index]

    def field(self, name, value):
        """(name, value), value None when it says nothing."""
        if name.endswith("_strindex"):
            plain = name.removesuffix("_strindex")
            return plain, self.text(value) if plain == "string_value" else self.text(value) or None
        if name == "attribute_indices":  # a set; 0 is no attribute
            return name, sorted((self.item(TABLES[name], i) for i in value if i), key=repr)
        if name in TABLES:
            if isinstance(value, int):
                return name, self.item(TABLES[name], value) or None
            return name, [self.item(TABLES[name], i) for i in value]
        if hasattr(value, "ListFields"):
            return name, self.message(value) or None
        if isinstance(value, (int, float, str, bytes)):
            return name, value
        return name, [self.message(x) if hasattr(x, "ListFields") else x for x in value]

    def message(self, m):
        kept = (self.field(f.name, value) for f, value in m.ListFields() if f.name != "dictionary")
        out = {name: value for name, value in kept if value is not None}
        kind = m.DESCRIPTOR.name
        if kind == "AnyValue" and not out and m.ListFields():  # an empty value of a kind is not no value
            return {m.ListFields()[0][0].name: {}}
        return out


def whole(request):
    """What the request says, with nothing of how it says it."""
    return _Resolver(request.dictionary).message(request)


def assert_sound(request):
    """Element 0 of each table is the zero value, no string is there twice."""
    tables = request.dictionary
    for field in tables.DESCRIPTOR.fields:
        items = getattr(tables, field.name)
        assert len(items) > 0, f"{field.name} is empty"
        first = items[0]
        assert first == "" if isinstance(first, str) else first.ByteSize() == 0, f"{field.name}[0] is {first}"
    strings = list(tables.string_table)
    assert len(set(strings)) == len(strings), "a string is there twice"


def difference(a, b, path="request"):
    """Where two of whole()'s results differ first; None when they do not."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(a.keys() | b.keys()):
            found = difference(a.get(name), b.get(name), f"{path}.{name}")
            if found:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((d for d in (difference(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b))) if d), None)
    same = a == b or (a != a and b != b)  # NaN is NaN
    return None if same else f"{path}: {str(a)[:200]} is {str(b)[:200]}"
