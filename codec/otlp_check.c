// SPDX-License-Identifier: Apache-2.0
// Each message is a row of rules by field number (opentelemetry-proto profiles v1development, common, resource). What a
// rule cannot say is judged after its message from what was seen in it.
#include "codec/otlp_check.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "codec/otlp_reader.h"

enum { RULES = 16 }; // field numbers of OTLP are below

enum rule_kind {
    OTHER, // no field of ours: passed over
    UINT,
    FIXED64,
    INDEX,      // of a table
    INDICES,    // the same, repeated
    ATTRIBUTES, // the same, of attributes with distinct keys
    TEXT,
    BYTES,
    ID, // of so many bytes, or none
    VALUES,
    TIMESTAMPS,
    MESSAGE,
};

struct message;

struct rule {
    uint8_t kind;
    uint8_t detail; // the table of an index, the size of an id
    const struct message *message;
};

// What was seen in a message.
struct seen {
    uint32_t fields;  // a bit for each number
    uint64_t one;     // the last index or integer of field 1
    bool any;         // something other than zeros and empty texts
    bool text, bytes; // one that is not empty
    bool index;       // one other than 0
    bool zero_id;     // an id of zeros
    bool attributes;  // a list of them
    uint32_t values, timestamps;
};

struct extent { // of a table: from its first element to its last, with whatever lies between
    const uint8_t *at, *end;
};

struct checker {
    const struct otlp_limits *limits;
    struct extent tables[OTLP_TABLE_COUNT];
    uint32_t lengths[OTLP_TABLE_COUNT];
    const uint8_t *request;
    struct otlp_span *strings; // of the string table
    uint32_t *keys;            // hashes, of the attribute table
    uint32_t entries;          // of the lists in the element being read
    uint32_t depth;            // of the value being read
    uint64_t profiles, samples;
    bool references;
};

struct message {
    struct rule rules[RULES];
    bool (*judge)(struct checker *c, const struct seen *s); // NULL = whatever was seen is good
    enum { EMPTY_IS_NOTHING, EMPTY_IS_SOMETHING, FIELDS_ARE_SOMETHING } presence;
    bool nests; // one level of values
};

static bool check_message(struct checker *c, const struct message *m, const uint8_t *at, const uint8_t *end,
                          struct seen *s);

// --- numbers ---

static bool take_long_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    const uint8_t *p = *at;
    uint64_t v = 0;
    for (unsigned shift = 0; p != end && shift < 64; shift += 7) {
        uint8_t byte = *p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = v;
            *at = p;
            return shift < 63 || byte == 1;
        }
    }
    return false;
}

static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    const uint8_t *p = *at;
    if (p < end && p[0] < 0x80) {
        *out = p[0];
        *at = p + 1;
        return true;
    }
    if (end - p >= 2 && p[1] < 0x80) {
        *out = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
        *at = p + 2;
        return true;
    }
    return take_long_varint(at, end, out);
}

static inline bool take_len(const uint8_t **at, const uint8_t *end, struct bytes *out)
{
    uint64_t len;
    if (!take_varint(at, end, &len) || len > (size_t)(end - *at))
        return false;
    *out = (struct bytes){*at, (size_t)len};
    *at += len;
    return true;
}

static bool all_indices(struct bytes list, uint32_t length, uint32_t *count)
{
    const uint8_t *at = list.data, *end = at + list.len;
    uint32_t n = 0;
    for (uint64_t v; at != end; n++)
        if (!take_varint(&at, end, &v) || v >= length)
            return false;
    *count += n;
    return true;
}

// Distinct keys, none of them attribute 0. Lists are short as a rule. Two keys of one hash count as one.
static bool distinct_keys(const struct checker *c, struct bytes list)
{
    enum { FEW = 64 };
    uint32_t keys[FEW], n = 0;
    const uint8_t *at = list.data, *end = at + list.len;
    for (uint64_t v; at != end; n++) {
        if (n == FEW || !take_varint(&at, end, &v) || v == 0 || v >= c->lengths[OTLP_ATTRIBUTES])
            return false;
        keys[n] = c->keys[v];
        for (uint32_t i = 0; i < n; i++)
            if (keys[i] == keys[n])
                return false;
    }
    return n <= c->limits->max_attributes;
}

static bool count_varints(struct bytes list, uint32_t *count)
{
    const uint8_t *at = list.data, *end = at + list.len;
    uint32_t n = 0;
    for (uint64_t v; at != end; n++)
        if (!take_varint(&at, end, &v))
            return false;
    *count += n;
    return true;
}

static bool is_zero(struct bytes id)
{
    static const uint8_t zeros[16];
    return id.len <= sizeof zeros && memcmp(id.data, zeros, id.len) == 0;
}

// --- one field ---

static bool check_integer(const struct checker *c, const struct rule *rule, uint32_t number, uint64_t v, struct seen *s)
{
    if (rule->kind != UINT && v >= c->lengths[rule->detail])
        return false;
    s->any |= v != 0;
    s->index |= rule->kind == INDEX && v != 0;
    s->one = number == 1 ? v : s->one;
    return true;
}

static bool check_nested(struct checker *c, const struct message *m, struct bytes body, struct seen *s)
{
    struct seen inner = {0};
    bool good = true;
    c->depth += m->nests;
    if (c->depth > c->limits->max_value_depth || !check_message(c, m, body.data, body.data + body.len, &inner))
        good = false;
    c->depth -= m->nests;
    s->any |=
        inner.any || m->presence == EMPTY_IS_SOMETHING || (m->presence == FIELDS_ARE_SOMETHING && inner.fields != 0);
    return good;
}

static bool check_bytes(struct checker *c, const struct rule *rule, struct bytes b, struct seen *s)
{
    switch ((enum rule_kind)rule->kind) {
    case TEXT:
        s->text |= b.len != 0;
        s->any |= b.len != 0;
        return utf8_valid(b);
    case BYTES:
        s->bytes |= b.len != 0;
        s->any |= b.len != 0;
        return true;
    case ID:
        s->zero_id |= b.len != 0 && is_zero(b);
        s->any |= b.len != 0;
        return b.len == 0 || b.len == rule->detail;
    case INDICES:
        s->any = true;
        return all_indices(b, c->lengths[rule->detail], &c->entries);
    case ATTRIBUTES:
        if (s->attributes) // in pieces, with keys that may repeat
            return false;
        s->any = s->attributes = true;
        return distinct_keys(c, b);
    case VALUES:
        return count_varints(b, &s->values);
    case TIMESTAMPS:
        s->timestamps += (uint32_t)(b.len / sizeof(uint64_t));
        return b.len % sizeof(uint64_t) == 0;
    case MESSAGE:
        return check_nested(c, rule->message, b, s);
    case OTHER:
    case UINT:
    case FIXED64:
    case INDEX:
        break;
    }
    return false;
}

// A list may come one by one, too. Attributes that do are left to the decoder.
static bool check_varint(struct checker *c, const struct rule *rule, uint32_t number, uint64_t v, struct seen *s)
{
    switch ((enum rule_kind)rule->kind) {
    case UINT:
    case INDEX:
        return check_integer(c, rule, number, v, s);
    case INDICES:
        c->entries++;
        s->any = true;
        return v < c->lengths[rule->detail];
    case VALUES:
        s->values++;
        return true;
    default:
        return false;
    }
}

static bool check_fixed64(const struct rule *rule, const uint8_t **at, const uint8_t *end, struct seen *s)
{
    if ((size_t)(end - *at) < sizeof(uint64_t) || (rule->kind != FIXED64 && rule->kind != TIMESTAMPS))
        return false;
    s->any |= !is_zero((struct bytes){*at, sizeof(uint64_t)});
    s->timestamps += rule->kind == TIMESTAMPS;
    *at += sizeof(uint64_t);
    return true;
}

// A number we have rules for, but in more bytes than it needs, would be passed over here and read elsewhere.
static bool skip_field(const uint8_t **at, const uint8_t *end)
{
    struct wire_reader r = {.start = *at, .at = *at, .end = end};
    struct wire_field f;
    bool is_long = **at >= 0x80;
    if (!wire_next(&r, &f) || (is_long && f.number < RULES))
        return false;
    *at = r.at;
    return true;
}

static bool check_field(struct checker *c, const struct rule *rule, const uint8_t **at, const uint8_t *end,
                        struct seen *s)
{
    uint32_t number = **at >> 3;
    enum wire_type type = (enum wire_type)(*(*at)++ & 7);
    uint64_t v;
    struct bytes b;
    s->fields |= 1u << number;
    switch (type) {
    case WIRE_VARINT:
        return take_varint(at, end, &v) && check_varint(c, rule, number, v, s);
    case WIRE_LEN:
        return take_len(at, end, &b) && check_bytes(c, rule, b, s);
    case WIRE_FIXED64:
        return check_fixed64(rule, at, end, s);
    case WIRE_FIXED32:
        break;
    }
    return false;
}

static bool check_message(struct checker *c, const struct message *m, const uint8_t *at, const uint8_t *end,
                          struct seen *s)
{
    while (at != end) {
        const struct rule *rule = *at < 0x80 ? &m->rules[*at >> 3] : &m->rules[0];
        if (!(rule->kind == OTHER ? skip_field(&at, end) : check_field(c, rule, &at, end, s)))
            return false;
    }
    return m->judge == NULL || m->judge(c, s);
}

// --- common.proto, resource.proto ---

static inline bool has(const struct seen *s, uint32_t number)
{
    return (s->fields >> number & 1) != 0;
}

static bool judge_value(struct checker *c, const struct seen *s)
{
    c->references |= has(s, 8);
    return true;
}

static bool judge_key_value(struct checker *c, const struct seen *s)
{
    c->references |= has(s, 3);
    return !(s->text && s->index); // both key and key_strindex
}

static const struct message any_value;

static const struct message array_value = {.rules = {[1] = {MESSAGE, 0, &any_value}}, .nests = true};

static const struct message key_value = {
    .rules = {[1] = {TEXT, 0, NULL}, [2] = {MESSAGE, 0, &any_value}, [3] = {INDEX, OTLP_STRINGS, NULL}},
    .judge = judge_key_value,
};

static const struct message key_value_list = {.rules = {[1] = {MESSAGE, 0, &key_value}}, .nests = true};

static const struct message any_value = {
    .rules =
        {
            [1] = {TEXT, 0, NULL},
            [2] = {UINT, 0, NULL},
            [3] = {UINT, 0, NULL},
            [4] = {FIXED64, 0, NULL},
            [5] = {MESSAGE, 0, &array_value},
            [6] = {MESSAGE, 0, &key_value_list},
            [7] = {BYTES, 0, NULL},
            [8] = {INDEX, OTLP_STRINGS, NULL},
        },
    .judge = judge_value,
    .presence = FIELDS_ARE_SOMETHING,
};

static const struct message entity_ref = {
    .rules = {[1] = {TEXT, 0, NULL}, [2] = {TEXT, 0, NULL}, [3] = {TEXT, 0, NULL}, [4] = {TEXT, 0, NULL}},
};

static const struct message resource = {
    .rules = {[1] = {MESSAGE, 0, &key_value}, [2] = {UINT, 0, NULL}, [3] = {MESSAGE, 0, &entity_ref}},
};

static const struct message scope = {
    .rules = {[1] = {TEXT, 0, NULL}, [2] = {TEXT, 0, NULL}, [3] = {MESSAGE, 0, &key_value}, [4] = {UINT, 0, NULL}},
};

// --- profiles.proto: profiles ---

static bool judge_sample(struct checker *c, const struct seen *s)
{
    c->samples++;
    return s->timestamps == 0 ? s->values == 1 : s->values == 0 || s->values == s->timestamps;
}

static bool judge_profile(struct checker *c, const struct seen *s)
{
    c->profiles++;
    return has(s, 1) && has(s, 5) && !s->zero_id && s->text == s->bytes && c->profiles <= c->limits->max_profiles &&
           c->samples <= c->limits->max_samples;
}

static bool judge_container(struct checker *c, const struct seen *s)
{
    (void)c;
    return has(s, 1);
}

static const struct message value_type = {
    .rules = {[1] = {INDEX, OTLP_STRINGS, NULL}, [2] = {INDEX, OTLP_STRINGS, NULL}},
};

static const struct message sample = {
    .rules =
        {
            [1] = {INDEX, OTLP_STACKS, NULL},
            [2] = {ATTRIBUTES, 0, NULL},
            [3] = {INDEX, OTLP_LINKS, NULL},
            [4] = {VALUES, 0, NULL},
            [5] = {TIMESTAMPS, 0, NULL},
        },
    .judge = judge_sample,
};

static const struct message profile = {
    .rules =
        {
            [1] = {MESSAGE, 0, &value_type},
            [2] = {MESSAGE, 0, &sample},
            [3] = {FIXED64, 0, NULL},
            [4] = {UINT, 0, NULL},
            [5] = {MESSAGE, 0, &value_type},
            [6] = {UINT, 0, NULL},
            [7] = {ID, 16, NULL},
            [8] = {UINT, 0, NULL},
            [9] = {TEXT, 0, NULL},
            [10] = {BYTES, 0, NULL},
            [11] = {ATTRIBUTES, 0, NULL},
        },
    .judge = judge_profile,
};

static const struct message scope_profiles = {
    .rules = {[1] = {MESSAGE, 0, &scope}, [2] = {MESSAGE, 0, &profile}, [3] = {TEXT, 0, NULL}},
    .judge = judge_container,
};

static const struct message resource_profiles = {
    .rules = {[1] = {MESSAGE, 0, &resource}, [2] = {MESSAGE, 0, &scope_profiles}, [3] = {TEXT, 0, NULL}},
    .judge = judge_container,
};

// --- profiles.proto: the dictionary ---

static bool judge_line(struct checker *c, const struct seen *s)
{
    (void)s;
    c->entries++;
    return true;
}

static const struct message mapping = {
    .rules =
        {
            [1] = {UINT, 0, NULL},
            [2] = {UINT, 0, NULL},
            [3] = {UINT, 0, NULL},
            [4] = {INDEX, OTLP_STRINGS, NULL},
            [5] = {ATTRIBUTES, 0, NULL},
        },
};

static const struct message line = {
    .rules = {[1] = {INDEX, OTLP_FUNCTIONS, NULL}, [2] = {UINT, 0, NULL}, [3] = {UINT, 0, NULL}},
    .judge = judge_line,
    .presence = EMPTY_IS_SOMETHING,
};

static const struct message location = {
    .rules =
        {
            [1] = {INDEX, OTLP_MAPPINGS, NULL},
            [2] = {UINT, 0, NULL},
            [3] = {MESSAGE, 0, &line},
            [4] = {ATTRIBUTES, 0, NULL},
        },
};

static const struct message function = {
    .rules =
        {
            [1] = {INDEX, OTLP_STRINGS, NULL},
            [2] = {INDEX, OTLP_STRINGS, NULL},
            [3] = {INDEX, OTLP_STRINGS, NULL},
            [4] = {UINT, 0, NULL},
        },
};

static const struct message link_message = {.rules = {[1] = {ID, 16, NULL}, [2] = {ID, 8, NULL}}};

static const struct message attribute = {
    .rules = {[1] = {INDEX, OTLP_STRINGS, NULL}, [2] = {MESSAGE, 0, &any_value}, [3] = {INDEX, OTLP_STRINGS, NULL}},
};

static const struct message stack = {.rules = {[1] = {INDICES, OTLP_LOCATIONS, NULL}}};

static const struct message *const elements[OTLP_TABLE_COUNT] = {
    [OTLP_MAPPINGS] = &mapping,   [OTLP_LOCATIONS] = &location,   [OTLP_FUNCTIONS] = &function,
    [OTLP_LINKS] = &link_message, [OTLP_ATTRIBUTES] = &attribute, [OTLP_STACKS] = &stack,
};

// The next field; *number_out 0 for what is not of a table.
static inline bool take_element(const uint8_t **at, const uint8_t *end, uint32_t *number_out, struct bytes *element)
{
    uint32_t number = **at >> 3;
    if (number == 0 || number > OTLP_TABLE_COUNT) {
        *number_out = 0;
        *element = (struct bytes){NULL, 0};
        return skip_field(at, end);
    }
    *number_out = number;
    return (*(*at)++ & 7) == WIRE_LEN && take_len(at, end, element);
}

static bool survey_dictionary(struct checker *c, struct bytes dictionary)
{
    const uint8_t *at = dictionary.data, *end = at + dictionary.len;
    uint32_t number;
    struct bytes element;
    for (const uint8_t *start = at; at != end; start = at) {
        if (!take_element(&at, end, &number, &element))
            return false;
        if (number != 0 && c->lengths[number - 1]++ == 0)
            c->tables[number - 1].at = start;
        if (number != 0)
            c->tables[number - 1].end = at;
    }
    for (size_t t = 0; t < OTLP_TABLE_COUNT; t++)
        if (c->lengths[t] == 0)
            return false;
    return true;
}

static bool check_string(struct checker *c, struct bytes text, uint32_t index)
{
    c->strings[index] = (struct otlp_span){(uint32_t)(text.data - c->request), (uint32_t)text.len};
    return index == 0 ? text.len == 0 : utf8_valid(text);
}

static uint32_t key_hash(const struct checker *c, uint64_t string)
{
    const struct otlp_span *key = &c->strings[string];
    return (uint32_t)hash_bytes(c->request + key->start, key->len);
}

static bool check_element(struct checker *c, enum otlp_table table, struct bytes element, uint32_t index)
{
    struct seen s = {0};
    if (table == OTLP_STRINGS)
        return check_string(c, element, index);
    c->entries = 0;
    if (!check_message(c, elements[table], element.data, element.data + element.len, &s))
        return false;
    if (table == OTLP_ATTRIBUTES)
        c->keys[index] = key_hash(c, s.one);
    return !(index == 0 && s.any) && c->entries <= c->limits->max_stack_depth;
}

static bool check_table(struct checker *c, enum otlp_table table)
{
    struct extent e = c->tables[table];
    uint32_t number;
    struct bytes element;
    for (uint32_t i = 0; e.at != e.end;) {
        if (!take_element(&e.at, e.end, &number, &element))
            return false;
        if (number == (uint32_t)table + 1 && !check_element(c, table, element, i++))
            return false;
    }
    return true;
}

// Strings and attributes come before what asks for them here.
static bool check_dictionary(struct checker *c)
{
    static const enum otlp_table order[OTLP_TABLE_COUNT] = {
        OTLP_STRINGS, OTLP_ATTRIBUTES, OTLP_MAPPINGS, OTLP_LOCATIONS, OTLP_FUNCTIONS, OTLP_LINKS, OTLP_STACKS,
    };
    for (size_t i = 0; i < OTLP_TABLE_COUNT; i++)
        if (!check_table(c, order[i]))
            return false;
    return true;
}

// --- the request ---

struct request {
    struct bytes dictionary;
    uint32_t resources, dictionaries;
};

static bool check_resources(struct checker *c, struct bytes data, struct otlp_index *out)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    for (uint32_t i = 0; wire_next(&r, &f);) {
        struct seen s = {0};
        const struct origin_count before = {c->profiles, c->samples};
        if (f.number != 1)
            continue;
        if (!check_message(c, &resource_profiles, f.bytes.data, f.bytes.data + f.bytes.len, &s))
            return false;
        out->counts[i++] = (struct origin_count){c->profiles - before.profiles, c->samples - before.samples};
    }
    return r.error == NULL;
}

static bool survey(struct bytes data, struct request *q)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (wire_next(&r, &f)) {
        if ((f.number == 1 || f.number == 2) && f.type != WIRE_LEN)
            return false;
        q->resources += f.number == 1;
        q->dictionaries += f.number == 2;
        q->dictionary = f.number == 2 ? f.bytes : q->dictionary;
    }
    return r.error == NULL && q->dictionaries == 1 && q->resources > 0;
}

// Neither this nor the index is built beyond what the batch itself may take.
static bool allocate(struct checker *c, struct otlp_index *out)
{
    size_t strings = c->lengths[OTLP_STRINGS], attributes = c->lengths[OTLP_ATTRIBUTES],
           max = c->limits->max_batch_bytes;
    if (max != 0 &&
        out->resource_count * sizeof *out->counts + strings * sizeof *c->strings + attributes * sizeof *c->keys > max)
        return false;
    out->counts = mem_try_array(out->resource_count, sizeof *out->counts);
    c->strings = mem_try_array(strings, sizeof *c->strings);
    c->keys = mem_try_array(attributes, sizeof *c->keys);
    return out->counts != NULL && c->strings != NULL && c->keys != NULL;
}

static bool check_request(struct checker *c, struct bytes data, const struct request *q, struct otlp_index *out)
{
    out->resource_count = q->resources;
    if (!survey_dictionary(c, q->dictionary) || !allocate(c, out) || !check_dictionary(c))
        return false;
    out->attribute_references = c->references;
    c->references = false;
    if (!check_resources(c, data, out))
        return false;
    out->references = c->references;
    return true;
}

bool otlp_check(struct bytes data, const struct otlp_limits *limits, struct otlp_index *out)
{
    struct checker c = {.limits = limits, .request = data.data};
    struct request q = {0};
    *out = (struct otlp_index){0};
    bool good = data.len <= UINT32_MAX && survey(data, &q) && check_request(&c, data, &q, out);
    free(c.strings);
    free(c.keys);
    if (!good) {
        free(out->counts);
        *out = (struct otlp_index){0};
    }
    return good;
}
