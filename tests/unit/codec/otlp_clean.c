// SPDX-License-Identifier: Apache-2.0
#include "otlp_clean.h"

struct writer {
    struct buf *out;
    const struct clean *clean;
};

static bool is_left_out(const struct writer *w, enum clean_place place, uint32_t number)
{
    return w->clean->place == place && w->clean->without == number;
}

static void put_uint(const struct writer *w, enum clean_place place, uint32_t number, uint64_t v)
{
    if (!is_left_out(w, place, number))
        wire_put_uint(w->out, number, v);
}

static void put_text(const struct writer *w, enum clean_place place, uint32_t number, const char *text)
{
    if (!is_left_out(w, place, number))
        wire_put_bytes(w->out, number, bytes_from_text(text));
}

static void end(const struct writer *w, enum clean_place place, size_t start)
{
    if (w->clean->place == place)
        buf_add(w->out, w->clean->extra.data, w->clean->extra.len);
    wire_end(w->out, start);
}

static void put_empty(const struct writer *w, enum clean_place place, uint32_t number)
{
    end(w, place, wire_begin(w->out, number));
}

// --- dictionary ---

static void write_mappings(const struct writer *w)
{
    put_empty(w, ZERO_MAPPING, 1);
    size_t m = wire_begin(w->out, 1);
    put_uint(w, A_MAPPING, 1, 0x1000);
    put_uint(w, A_MAPPING, 2, UINT64_MAX);
    put_uint(w, A_MAPPING, 3, 0x200);
    put_uint(w, A_MAPPING, 4, 1);
    put_text(w, A_MAPPING, 5, "\1");
    end(w, A_MAPPING, m);
}

static void write_line(const struct writer *w, uint64_t number)
{
    size_t line = wire_begin(w->out, 3);
    put_uint(w, A_LINE, 1, 1);
    put_uint(w, A_LINE, 2, number);
    put_uint(w, A_LINE, 3, 4);
    end(w, A_LINE, line);
}

static void write_locations(const struct writer *w)
{
    put_empty(w, ZERO_LOCATION, 2);
    size_t l = wire_begin(w->out, 2);
    put_uint(w, A_LOCATION, 1, 1);
    put_uint(w, A_LOCATION, 2, 0x1234);
    if (!is_left_out(w, A_LOCATION, 3)) {
        write_line(w, 17);
        write_line(w, 200);
    }
    put_text(w, A_LOCATION, 4, "\1");
    end(w, A_LOCATION, l);
}

static void write_functions(const struct writer *w)
{
    put_empty(w, ZERO_FUNCTION, 3);
    size_t f = wire_begin(w->out, 3);
    put_uint(w, A_FUNCTION, 1, 2);
    put_uint(w, A_FUNCTION, 2, 2);
    put_uint(w, A_FUNCTION, 3, 1);
    put_uint(w, A_FUNCTION, 4, (uint64_t)-1);
    end(w, A_FUNCTION, f);
}

static void write_links(const struct writer *w)
{
    put_empty(w, ZERO_LINK, 4);
    size_t l = wire_begin(w->out, 4);
    put_text(w, A_LINK, 1, "0123456789abcdef");
    put_text(w, A_LINK, 2, "01234567");
    end(w, A_LINK, l);
}

static void write_strings(const struct writer *w)
{
    static const char *const strings[CLEAN_STRINGS] = {"",
                                                       "file.c",
                                                       "run",
                                                       "key",
                                                       "ns",
                                                       "value",
                                                       "s\xC3\xA9"
                                                       "cret"};
    for (size_t i = 0; i < CLEAN_STRINGS; i++)
        wire_put_bytes(w->out, 5, bytes_from_text(strings[i]));
}

static void write_attributes(const struct writer *w)
{
    put_empty(w, ZERO_ATTRIBUTE, 6);
    size_t a = wire_begin(w->out, 6);
    put_uint(w, AN_ATTRIBUTE, 1, 3);
    size_t v = wire_begin(w->out, 2);
    if (w->clean->attribute_references)
        put_uint(w, A_VALUE, 8, 5);
    else
        put_text(w, A_VALUE, 1, "value");
    end(w, A_VALUE, v);
    put_uint(w, AN_ATTRIBUTE, 3, 4);
    end(w, AN_ATTRIBUTE, a);
}

static void write_stacks(const struct writer *w)
{
    put_empty(w, ZERO_STACK, 7);
    size_t s = wire_begin(w->out, 7);
    put_text(w, A_STACK, 1, "\1\1");
    end(w, A_STACK, s);
}

static void write_dictionary(const struct writer *w)
{
    static void (*const tables[])(const struct writer *) = {
        write_mappings, write_locations, write_functions, write_links, write_strings, write_attributes, write_stacks,
    };
    size_t d = wire_begin(w->out, 2);
    for (uint32_t i = 0; i < COUNT_OF(tables); i++)
        if (!is_left_out(w, A_DICTIONARY, i + 1))
            tables[i](w);
    end(w, A_DICTIONARY, d);
}

// --- profiles ---

static void write_value_type(const struct writer *w, enum clean_place place, uint32_t number)
{
    if (is_left_out(w, A_PROFILE, number))
        return;
    size_t t = wire_begin(w->out, number);
    put_uint(w, place, 1, 3);
    put_uint(w, place, 2, 4);
    end(w, place, t);
}

// One of each shape.
static void write_sample(const struct writer *w, uint32_t shape)
{
    size_t s = wire_begin(w->out, 2);
    put_uint(w, A_SAMPLE, 1, 1);
    put_text(w, A_SAMPLE, 2, "\1");
    put_uint(w, A_SAMPLE, 3, 1);
    if (shape == 0)
        put_uint(w, A_SAMPLE, 4, 7); // not packed, as async-profiler has it
    if (shape == 1)
        put_text(w, A_SAMPLE, 4, "\7\377\1");
    if (shape != 0 && !is_left_out(w, A_SAMPLE, 5)) {
        wire_put_fixed64(w->out, 5, 1700000000000000000u);
        wire_put_bytes(w->out, 5, BYTES_LITERAL("12345678"));
    }
    end(w, A_SAMPLE, s);
}

static void write_profile(const struct writer *w)
{
    size_t p = wire_begin(w->out, 2);
    write_value_type(w, A_VALUE_TYPE, 1);
    for (uint32_t shape = 0; shape < CLEAN_SAMPLES; shape++)
        write_sample(w, shape);
    wire_put_fixed64(w->out, 3, 1700000000000000000u);
    put_uint(w, A_PROFILE, 4, 60);
    write_value_type(w, NOWHERE, 5);
    put_uint(w, A_PROFILE, 6, 100);
    put_text(w, A_PROFILE, 7, "0123456789abcdef");
    put_uint(w, A_PROFILE, 8, 3);
    put_text(w, A_PROFILE, 9, "pprof");
    put_text(w, A_PROFILE, 10, "\377payload");
    put_text(w, A_PROFILE, 11, "\1");
    end(w, A_PROFILE, p);
}

static void write_scope_profiles(const struct writer *w)
{
    size_t sp = wire_begin(w->out, 2);
    if (!is_left_out(w, A_SCOPE_PROFILES, 1)) {
        size_t s = wire_begin(w->out, 1);
        put_text(w, A_SCOPE, 1, "scope");
        put_text(w, A_SCOPE, 2, "1.0");
        wire_put_bytes(w->out, 3, BYTES_LITERAL("\12\1a\22\2\30\1"));
        put_uint(w, A_SCOPE, 4, 2);
        end(w, A_SCOPE, s);
    }
    write_profile(w);
    put_text(w, A_SCOPE_PROFILES, 3, "https://example.com/scope");
    end(w, A_SCOPE_PROFILES, sp);
}

static void write_attribute(const struct writer *w)
{
    size_t kv = wire_begin(w->out, 1);
    if (w->clean->references) {
        put_uint(w, A_KEY_VALUE, 3, 3);
        wire_put_bytes(w->out, 2, BYTES_LITERAL("\100\6"));
    } else {
        put_text(w, A_KEY_VALUE, 1, "service.name");
        wire_put_bytes(w->out, 2, BYTES_LITERAL("\12\4shop"));
    }
    end(w, A_KEY_VALUE, kv);
}

static void write_resource(const struct writer *w)
{
    size_t r = wire_begin(w->out, 1);
    write_attribute(w);
    wire_put_bytes(w->out, 1, BYTES_LITERAL("\12\6shared\22\2\20\1"));
    put_uint(w, A_RESOURCE, 2, 1);
    size_t entity = wire_begin(w->out, 3);
    put_text(w, AN_ENTITY_REF, 2, "service");
    put_text(w, AN_ENTITY_REF, 3, "service.name");
    end(w, AN_ENTITY_REF, entity);
    end(w, A_RESOURCE, r);
}

static void write_resource_profiles(const struct writer *w)
{
    size_t rp = wire_begin(w->out, 1);
    if (!is_left_out(w, A_RESOURCE_PROFILES, 1))
        write_resource(w);
    write_scope_profiles(w);
    write_scope_profiles(w);
    put_text(w, A_RESOURCE_PROFILES, 3, "https://example.com/resource");
    end(w, A_RESOURCE_PROFILES, rp);
}

void clean_write(struct buf *out, const struct clean *c)
{
    const struct writer w = {out, c};
    write_resource_profiles(&w);
    write_dictionary(&w);
    write_resource_profiles(&w);
    if (c->place == A_REQUEST)
        buf_add(out, c->extra.data, c->extra.len);
}

const char *clean_types(enum clean_place place, uint32_t number)
{
    static const char *const types[CLEAN_PLACES][12] = {
        [A_MAPPING] = {"", "v", "v", "v", "v", "lv"},
        [A_LOCATION] = {"", "v", "v", "l", "lv"},
        [A_LINE] = {"", "v", "v", "v"},
        [A_FUNCTION] = {"", "v", "v", "v", "v"},
        [A_LINK] = {"", "l", "l"},
        [AN_ATTRIBUTE] = {"", "v", "l", "v"},
        [A_VALUE] = {"", "l", "v", "v", "f", "l", "l", "l", "v"},
        [A_STACK] = {"", "lv"},
        [A_DICTIONARY] = {"", "l", "l", "l", "l", "l", "l", "l"},
        [A_SAMPLE] = {"", "v", "lv", "v", "lv", "lf"},
        [A_VALUE_TYPE] = {"", "v", "v"},
        [A_PROFILE] = {"", "l", "l", "f", "v", "l", "v", "l", "v", "l", "l", "lv"},
        [A_SCOPE] = {"", "l", "l", "l", "v"},
        [A_SCOPE_PROFILES] = {"", "l", "l", "l"},
        [A_KEY_VALUE] = {"", "l", "l", "v"},
        [AN_ENTITY_REF] = {"", "l", "l", "l", "l"},
        [A_RESOURCE] = {"", "l", "v", "l"},
        [A_RESOURCE_PROFILES] = {"", "l", "l", "l"},
        [A_REQUEST] = {"", "l", "l"},
    };
    const char *found = number < 12 ? types[place][number] : NULL;
    return found == NULL ? "" : found;
}
