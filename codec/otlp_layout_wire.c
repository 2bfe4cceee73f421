// SPDX-License-Identifier: Apache-2.0
// Which layouts allow a field, by its wire type (opentelemetry-proto 1.4 to 1.11). A list of numbers may come packed or not.
#include "codec/otlp_layout_finder.h"

#define LIST(layouts) .varint = (layouts), .bytes = (layouts)

static const struct layout_message profile = {
    .name = "Profile",
    .newest = 11,
    .rows =
        {
            [1] = {.bytes = L_ALL},
            [2] = {.bytes = L_ALL},
            [3] = {.varint = L7, .fixed64 = L_NEW, .bytes = L_OLD},
            [4] = {.varint = L7 | L_NEW, .bytes = L5},
            [5] = {.varint = L_OLD, .bytes = L5 | L_NEW},
            [6] = {.varint = L_NEW, .bytes = L_OLD},
            [7] = {.varint = L7 | L8, .bytes = L5 | L_NEW},
            [8] = {.varint = L7 | L9 | LC, .bytes = L_OLD | L8},
            [9] = {.varint = L7 | L8, .bytes = L5 | L9 | LC},
            [10] = {.bytes = L_ALL},
            [11] = {.varint = L_OLD | L9 | LC, .bytes = L_NEW},
            [12] = {.varint = L5 | L8, .bytes = L7 | L8},
            [13] = {.bytes = L_OLD},
            [14] = {.varint = L_OLD, .bytes = L7},
            [15] = {LIST(L5)},
            [16] = {.varint = L5},
            [17] = {.bytes = L5},
            [18] = {.bytes = L5},
            [19] = {.varint = L5},
            [20] = {.bytes = L5},
            [21] = {.bytes = L5},
            [22] = {LIST(L5)},
        },
};

static const struct layout_message sample = {
    .name = "Sample",
    .newest = 5,
    .rows =
        {
            [1] = {.varint = L_ALL},
            [2] = {.varint = L_ALL, .bytes = L_NEW},
            [3] = {.varint = L_ALL, .bytes = L_OLD | L8 | L9},
            [4] = {.varint = L_ALL, .bytes = L_OLD | LC},
            [5] = {.varint = L_OLD, .fixed64 = L_NEW, .bytes = L_NEW},
            [6] = {LIST(L_OLD)},
        },
};

static const struct layout_message value_type = {
    .name = "ValueType",
    .newest = 2,
    .rows = {[3] = {.varint = L_OLD | L8}},
};

static const struct layout_message mapping = {
    .name = "Mapping",
    .newest = 5,
    .rows = {[1] = {.varint = L_ALL},
             [2] = {.varint = L_ALL},
             [3] = {.varint = L_ALL},
             [4] = {.varint = L_ALL},
             [5] = {LIST(L_ALL)},
             [6] = {.varint = L7},
             [7] = {.varint = L7},
             [8] = {.varint = L7},
             [9] = {.varint = L7}},
};

static const struct layout_message location = {
    .name = "Location",
    .newest = 4,
    .rows = {[1] = {.varint = L_ALL},
             [2] = {.varint = L_ALL},
             [3] = {.bytes = L_ALL},
             [4] = {.varint = L_ALL, .bytes = L_NEW},
             [5] = {LIST(L7)}},
};

static const struct layout_message attribute = {
    .name = "attribute_table",
    .newest = 3,
    .rows = {[1] = {.varint = L_NEW, .bytes = L7}, [2] = {.bytes = L_ALL}, [3] = {.varint = L_NEW}},
};

static const struct layout_message seventh_table = {
    // attribute_units, then stacks
    .name = "dictionary.7",
    .newest = 1,
    .rows = {[1] = {.varint = L_ALL, .bytes = L_NEW}, [2] = {.varint = L7}},
};

void layout_see(struct layout_view *v, const struct layout_message *m, const struct wire_field *field)
{
    uint32_t allowed = 0;
    if (field->number >= COUNT_OF(m->rows))
        return; // no layout has it
    if (field->type == WIRE_VARINT)
        allowed = m->rows[field->number].varint;
    else if (field->type == WIRE_LEN)
        allowed = m->rows[field->number].bytes;
    else if (field->type == WIRE_FIXED64)
        allowed = m->rows[field->number].fixed64;
    if (field->number > m->newest) {
        v->newer_fields = true;
        allowed |= LC;
    }
    if ((v->possible & ~allowed) != 0) // rarely
        layout_narrow(v, allowed, (struct layout_sign){.what = m->name, .number = field->number, .type = field->type});
}

// --- samples ---

static uint64_t count_entries(struct layout_view *v, const struct wire_field *field)
{
    if (field->type != WIRE_LEN)
        return 1;
    if (field->number != 5)
        return wire_count_varints(field->bytes);
    if (field->bytes.len % sizeof(uint64_t) != 0)
        layout_narrow(v, (uint32_t)~L_NEW, (struct layout_sign){.what = "the length of a list in field 5 of a sample"});
    return field->bytes.len / sizeof(uint64_t);
}

enum { SAMPLE_FIELDS = 7 };

static void judge_counts(struct layout_view *v, const uint64_t counts[SAMPLE_FIELDS])
{
    uint32_t fitting = (counts[3] + counts[6] > 0 ? L_OLD : 0) |
                       (layout_shape_fits(counts[2], counts[5]) ? L8 | L9 : 0) |
                       (layout_shape_fits(counts[4], counts[5]) ? LC : 0);
    layout_narrow(v, fitting, (struct layout_sign){.what = "the numbers of values and timestamps of a sample"});
    v->samples_differ |= counts[2] + counts[3] + counts[4] > 0;
}

static void look_at_sample(struct layout_view *v, struct bytes data)
{
    uint64_t counts[SAMPLE_FIELDS] = {0};
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, data);
    while (!layout_single(v->possible) && layout_next(&r, &field)) {
        layout_see(v, &sample, &field);
        if (field.number < SAMPLE_FIELDS)
            counts[field.number] += count_entries(v, &field);
    }
    if (r.error != NULL)
        v->possible = 0;
    else if (!layout_single(v->possible))
        judge_counts(v, counts);
}

// --- profiles ---

static void look_at_value_type(struct layout_view *v, struct bytes data)
{
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, data);
    while (layout_next(&r, &field))
        if (field.number == 3) // 1.3 has an id here, of any bytes
            layout_see(v, &value_type, &field);
}

// Since 1.8 an id is whole or empty. In 1.8 the list of comments stands where the id is since 1.9: of 16 bytes, in a request
// without any field that only 1.8 has, it is the id.
static void look_at_id(struct layout_view *v, const struct wire_field *field)
{
    const uint32_t layouts = field->number == 7 ? L9 | LC : field->number == 8 ? L8 : field->number == 10 ? L7 : 0;
    enum { ID_BYTES = 16 };
    if (field->type == WIRE_LEN && field->bytes.len != 0 && field->bytes.len != ID_BYTES)
        layout_narrow(v, layouts ^ (uint32_t)L_ALL, (struct layout_sign){.what = "the length of what would be an id"});
}

static void look_at_profile_field(struct layout_finder *f, struct layout_view *v, const struct wire_field *field)
{
    v->olds_differ |= field->number > 1;
    if (field->number == 2 && field->type == WIRE_LEN) {
        if ((v->possible & (uint32_t)~(L8 | L9)) != 0) // these two have the same samples
            look_at_sample(v, field->bytes);
        return;
    }
    f->has_profile_containers |= field->number == 2 && field->type == WIRE_FIXED64;
    layout_see(v, &profile, field);
    look_at_id(v, field);
    v->profiles_differ |= field->bytes.len != 0 && (field->number == 10 || field->number == 11);
    if (field->number == 1)
        look_at_value_type(v, field->bytes);
}

bool layout_allows_profile(struct layout_finder *f, struct bytes data, struct layout_view *v)
{
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, data);
    while (!layout_single(v->possible) && layout_next(&r, &field))
        look_at_profile_field(f, v, &field);
    return r.error == NULL && v->possible != 0;
}

static bool look_at_profile(struct layout_finder *f, void *arg, struct bytes data)
{
    struct layout_view v = f->view;
    (void)arg;
    if (!layout_allows_profile(f, data, &v))
        return true;
    f->view = v;
    f->has_profiles = true;
    return !layout_decided(f);
}

bool layout_look_at_profiles(struct layout_finder *f, struct err *e)
{
    return layout_each_profile(f, NULL, look_at_profile, e);
}

// --- the dictionary ---

bool layout_each_element(const struct layout_finder *f, void *arg,
                         void (*visit)(void *arg, enum otlp_table table, struct bytes element))
{
    struct wire_reader request, dictionary;
    struct wire_field piece, element;
    wire_reader_init(&request, f->request);
    while (layout_next(&request, &piece)) {
        if (piece.number != 2)
            continue;
        wire_reader_init(&dictionary, piece.bytes);
        while (layout_next(&dictionary, &element)) {
            if (element.number > OTLP_TABLE_COUNT)
                continue;
            if (element.type != WIRE_LEN)
                return false;
            visit(arg, (enum otlp_table)(element.number - 1), element.bytes);
        }
        if (dictionary.error != NULL)
            return false;
    }
    return true;
}

static void look_at_element(void *arg, enum otlp_table table, struct bytes element)
{
    static const struct layout_message *const messages[OTLP_TABLE_COUNT] = {
        [OTLP_MAPPINGS] = &mapping,
        [OTLP_LOCATIONS] = &location,
        [OTLP_ATTRIBUTES] = &attribute,
        [OTLP_STACKS] = &seventh_table,
    };
    struct layout_view *v = arg;
    struct wire_reader r;
    struct wire_field field;
    if (messages[table] == NULL || layout_single(v->possible))
        return;
    wire_reader_init(&r, element);
    while (layout_next(&r, &field))
        layout_see(v, messages[table], &field);
}

void layout_look_at_dictionary(struct layout_finder *f)
{
    struct layout_view v = f->view;
    if (layout_each_element(f, &v, look_at_element) && v.possible != 0)
        f->view = v;
}
