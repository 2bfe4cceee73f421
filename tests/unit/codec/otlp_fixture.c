// SPDX-License-Identifier: Apache-2.0
#include "otlp_fixture.h"

static uint64_t at(const struct fixture *f, enum fixture_place place, uint64_t good)
{
    return f->bad == place ? f->value : good;
}

void fixture_list(struct buf *out, const struct fixture *f, uint32_t number, uint64_t a, uint64_t b)
{
    if (f->unpacked) {
        wire_put_tag(out, number, WIRE_VARINT);
        wire_put_varint(out, a);
        wire_put_tag(out, number, WIRE_VARINT);
        wire_put_varint(out, b);
        return;
    }
    size_t list = wire_begin(out, number);
    wire_put_varint(out, a);
    wire_put_varint(out, b);
    wire_end(out, list);
}

static void empty(struct buf *out, uint32_t number)
{
    wire_put_bytes(out, number, (struct bytes){NULL, 0});
}

static void write_mapping(struct buf *out, const struct fixture *f)
{
    empty(out, 1);
    size_t m = wire_begin(out, 1);
    wire_put_uint(out, 1, 0x1000);
    wire_put_uint(out, 2, UINT64_MAX);
    wire_put_uint(out, 3, 0x200);
    wire_put_uint(out, 4, at(f, MAPPING_FILENAME, 1));
    fixture_list(out, f, 5, at(f, MAPPING_ATTRIBUTE, 1), 0);
    wire_end(out, m);
}

static void write_location(struct buf *out, const struct fixture *f)
{
    empty(out, 2);
    size_t l = wire_begin(out, 2);
    wire_put_uint(out, 1, at(f, LOCATION_MAPPING, 1));
    wire_put_uint(out, 2, 0x1234);
    size_t line = wire_begin(out, 3);
    wire_put_uint(out, 1, at(f, LINE_FUNCTION, 1));
    wire_put_uint(out, 2, 17);
    wire_put_uint(out, 3, 4);
    wire_end(out, line);
    fixture_list(out, f, 4, at(f, LOCATION_ATTRIBUTE, 1), 0);
    wire_end(out, l);
}

static void write_function(struct buf *out, const struct fixture *f)
{
    empty(out, 3);
    size_t fn = wire_begin(out, 3);
    wire_put_uint(out, 1, at(f, FUNCTION_NAME, 2));
    wire_put_uint(out, 2, at(f, FUNCTION_SYSTEM_NAME, 2));
    wire_put_uint(out, 3, at(f, FUNCTION_FILENAME, 1));
    wire_put_uint(out, 4, 10);
    wire_end(out, fn);
}

static void write_links(struct buf *out)
{
    static const uint8_t id[16] = {1, 2, 3, 4};
    size_t zero = wire_begin(out, 4); // as the Collector spells it
    empty(out, 2);
    empty(out, 1);
    wire_end(out, zero);
    size_t l = wire_begin(out, 4);
    wire_put_bytes(out, 1, (struct bytes){id, 16});
    wire_put_bytes(out, 2, (struct bytes){id, 8});
    wire_end(out, l);
}

static void write_strings(struct buf *out)
{
    static const char *const strings[FIXTURE_STRINGS] = {"", "file.c", "run", "key", "ns", "value"};
    for (size_t i = 0; i < FIXTURE_STRINGS; i++)
        wire_put_bytes(out, 5, bytes_from_text(strings[i]));
}

static void write_attribute(struct buf *out, const struct fixture *f)
{
    size_t zero = wire_begin(out, 6); // a value that is there but empty
    empty(out, 2);
    wire_end(out, zero);
    size_t a = wire_begin(out, 6);
    wire_put_uint(out, 1, at(f, ATTRIBUTE_KEY, 3));
    size_t v = wire_begin(out, 2);
    wire_put_uint(out, 8, at(f, ATTRIBUTE_VALUE, 5));
    wire_end(out, v);
    wire_put_uint(out, 3, at(f, ATTRIBUTE_UNIT, 4));
    wire_end(out, a);
}

static void write_stack(struct buf *out, const struct fixture *f)
{
    empty(out, 7);
    size_t s = wire_begin(out, 7);
    fixture_list(out, f, 1, at(f, STACK_LOCATION, 1), 1);
    wire_end(out, s);
}

static void write_dictionary(struct buf *out, const struct fixture *f)
{
    size_t d = wire_begin(out, 2);
    write_stack(out, f);
    write_attribute(out, f);
    write_strings(out);
    if (f->split_dictionary) {
        wire_end(out, d);
        d = wire_begin(out, 2);
    }
    write_links(out);
    write_function(out, f);
    write_location(out, f);
    write_mapping(out, f);
    wire_end(out, d);
}

static void write_sample(struct buf *out, const struct fixture *f, uint64_t value)
{
    size_t s = wire_begin(out, 2);
    wire_put_uint(out, 1, at(f, SAMPLE_STACK, 1));
    fixture_list(out, f, 2, 0, at(f, SAMPLE_ATTRIBUTE, 1));
    wire_put_uint(out, 3, at(f, SAMPLE_LINK, 1));
    wire_put_uint(out, 4, value); // not packed, as async-profiler has it
    wire_end(out, s);
}

static void write_value_type(struct buf *out, uint32_t number, uint64_t type, uint64_t unit)
{
    size_t t = wire_begin(out, number);
    wire_put_uint(out, 1, type);
    wire_put_uint(out, 2, unit);
    wire_end(out, t);
}

static void write_profile(struct buf *out, const struct fixture *f, uint64_t value)
{
    size_t p = wire_begin(out, 2);
    fixture_list(out, f, 11, at(f, PROFILE_ATTRIBUTE, 1), 0);
    wire_put_bytes(out, 10, BYTES_LITERAL("payload"));
    wire_put_bytes(out, 9, BYTES_LITERAL("pprof"));
    wire_put_uint(out, 8, 3);
    wire_put_bytes(out, 7, BYTES_LITERAL("0123456789abcdef"));
    write_sample(out, f, value);
    write_sample(out, f, (uint64_t)-5);
    wire_put_uint(out, 6, 100);
    write_value_type(out, 5, at(f, PERIOD_TYPE, 3), 4);
    wire_put_uint(out, 4, 60);
    wire_put_fixed64(out, 3, 1700000000000000000u);
    write_value_type(out, 1, at(f, SAMPLE_TYPE, 3), at(f, SAMPLE_UNIT, 4));
    wire_end(out, p);
}

static void write_resource(struct buf *out, const struct fixture *f)
{
    size_t r = wire_begin(out, 1);
    size_t kv = wire_begin(out, 1);
    wire_put_uint(out, 3, at(f, RESOURCE_KEY, 3));
    size_t v = wire_begin(out, 2);
    wire_put_uint(out, 8, at(f, RESOURCE_VALUE, 5));
    wire_end(out, v);
    wire_end(out, kv);
    wire_end(out, r);
}

static void write_resource_profiles(struct buf *out, const struct fixture *f)
{
    size_t rp = wire_begin(out, 1);
    size_t sp = wire_begin(out, 2);
    write_profile(out, f, 7);
    write_profile(out, f, 8);
    wire_end(out, sp);
    write_resource(out, f); // behind what it describes
    wire_end(out, rp);
}

void fixture_write(struct buf *out, const struct fixture *f)
{
    if (f->dictionary_first && !f->no_dictionary)
        write_dictionary(out, f);
    write_resource_profiles(out, f);
    if (!f->dictionary_first && !f->no_dictionary)
        write_dictionary(out, f);
}

const char *fixture_error_of(enum fixture_place place)
{
    static const char *const errors[FIXTURE_PLACES] = {
        [MAPPING_FILENAME] = "dictionary.mapping_table[1]: filename_strindex ",
        [MAPPING_ATTRIBUTE] = "dictionary.mapping_table[1]: attribute_indices ",
        [LOCATION_MAPPING] = "dictionary.location_table[1]: mapping_index ",
        [LOCATION_ATTRIBUTE] = "dictionary.location_table[1]: attribute_indices ",
        [LINE_FUNCTION] = "dictionary.location_table[1].lines[0]: function_index ",
        [FUNCTION_NAME] = "dictionary.function_table[1]: name_strindex ",
        [FUNCTION_SYSTEM_NAME] = "dictionary.function_table[1]: system_name_strindex ",
        [FUNCTION_FILENAME] = "dictionary.function_table[1]: filename_strindex ",
        [ATTRIBUTE_KEY] = "dictionary.attribute_table[1]: key_strindex ",
        [ATTRIBUTE_UNIT] = "dictionary.attribute_table[1]: unit_strindex ",
        [ATTRIBUTE_VALUE] = "dictionary.attribute_table[1]: string_value_strindex ",
        [STACK_LOCATION] = "dictionary.stack_table[1]: location_indices ",
        [SAMPLE_STACK] = "resource_profiles[0].scope_profiles[0].profiles[0].samples[0]: stack_index ",
        [SAMPLE_ATTRIBUTE] = "resource_profiles[0].scope_profiles[0].profiles[0].samples[0]: attribute_indices ",
        [SAMPLE_LINK] = "resource_profiles[0].scope_profiles[0].profiles[0].samples[0]: link_index ",
        [SAMPLE_TYPE] = "resource_profiles[0].scope_profiles[0].profiles[0].sample_type: type_strindex ",
        [SAMPLE_UNIT] = "resource_profiles[0].scope_profiles[0].profiles[0].sample_type: unit_strindex ",
        [PERIOD_TYPE] = "resource_profiles[0].scope_profiles[0].profiles[0].period_type: type_strindex ",
        [PROFILE_ATTRIBUTE] = "resource_profiles[0].scope_profiles[0].profiles[0]: attribute_indices ",
        [RESOURCE_KEY] = "resource_profiles[0].resource.attributes[0]: key_strindex ",
        [RESOURCE_VALUE] = "resource_profiles[0].resource.attributes[0]: string_value_strindex ",
    };
    return errors[place];
}
