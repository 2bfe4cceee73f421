// SPDX-License-Identifier: Apache-2.0
// Where the fields alone leave several layouts: whether the indices fit the tables under each. Legal is what the
// specification allows; what only a lenient decoder would take counts when a profile is legal under no layout. What is left
// then is told apart by orphans: a dictionary is written with entries that something refers to.
#include "base/mem.h"
#include "codec/otlp_layout_finder.h"

enum { FEW = 64 }; // numbers of a list that are looked at one by one

struct numbers { // of a repeated field, or the last one of a single field
    uint64_t items[FEW];
    uint64_t count, max;
};

struct index_check {
    struct layout_finder *f;
    uint32_t lengths[OTLP_TABLE_COUNT]; // at least 1
    uint32_t present[OTLP_TABLE_COUNT];
    uint32_t *keys;                   // of attributes
    uint8_t *users[OTLP_TABLE_COUNT]; // of attributes and links: layouts under which something refers to it
    bool long_lists;                  // users are not complete
    bool several_numbers;             // of some sample in its second field
    bool any_fits;                    // some profile under some layout
    bool first_is_no_zero;            // of the strings
};

// What is legal, and what can be decoded at all.
struct fit {
    uint32_t legal, lenient;
};

static void without(struct fit *fit, uint32_t layouts)
{
    fit->legal &= ~layouts;
    fit->lenient &= ~layouts;
}

static bool add_number(struct numbers *n, uint64_t v)
{
    if (n->count < FEW)
        n->items[n->count] = v;
    n->count++;
    n->max = v > n->max ? v : n->max;
    return true;
}

static bool add_field(struct numbers *n, const struct wire_field *field)
{
    if (field->type != WIRE_LEN)
        return add_number(n, field->varint);
    struct wire_reader r;
    wire_reader_init(&r, field->bytes);
    while (r.at != r.end) {
        uint64_t v = wire_varint(&r);
        if (r.error != NULL)
            return false;
        add_number(n, v);
    }
    return true;
}

static bool distinct_attributes(const struct index_check *c, const struct numbers *n)
{
    for (uint64_t i = 0; i < n->count; i++) {
        if (n->items[i] == 0)
            return false;
        for (uint64_t k = 0; k < i; k++)
            if (c->keys[n->items[k]] == c->keys[n->items[i]])
                return false;
    }
    return true;
}

static void note_users(struct index_check *c, enum otlp_table table, const struct numbers *n, uint32_t layouts)
{
    c->long_lists |= n->count > FEW;
    for (uint64_t i = 0; i < n->count && i < FEW; i++)
        if (n->items[i] < c->lengths[table])
            c->users[table][n->items[i]] |= (uint8_t)layouts;
}

// This list of attributes under these layouts.
static void judge_attributes(struct index_check *c, const struct numbers *n, uint32_t layouts, struct fit *fit)
{
    if (n->count == 0)
        return;
    note_users(c, OTLP_ATTRIBUTES, n, layouts);
    if (n->max >= c->lengths[OTLP_ATTRIBUTES])
        without(fit, layouts);
    else if (n->count > FEW || !distinct_attributes(c, n))
        fit->legal &= ~layouts;
}

static void judge_link(struct index_check *c, const struct numbers *n, uint32_t layouts, struct fit *fit)
{
    note_users(c, OTLP_LINKS, n, layouts);
    if (n->count > 0 && n->max >= c->lengths[OTLP_LINKS])
        without(fit, layouts);
}

// --- samples ---

enum { SAMPLE_FIELDS = 7 };

// The numbers in a sample's fields; of timestamps only how many. False = damaged.
static bool read_sample(struct bytes data, struct numbers n[SAMPLE_FIELDS])
{
    struct wire_reader r;
    struct wire_field field;
    for (uint32_t i = 0; i < SAMPLE_FIELDS; i++)
        n[i].count = n[i].max = 0;
    wire_reader_init(&r, data);
    while (layout_next(&r, &field)) {
        if (field.number >= SAMPLE_FIELDS)
            continue;
        if (field.number == 5 && field.type == WIRE_LEN)
            n[5].count += field.bytes.len / sizeof(uint64_t);
        else if (!add_field(&n[field.number], &field))
            return false;
    }
    return r.error == NULL;
}

static void judge_sample(struct index_check *c, struct bytes data, struct fit *fit)
{
    struct numbers n[SAMPLE_FIELDS];
    if (!read_sample(data, n) || n[1].max >= c->lengths[OTLP_STACKS]) {
        without(fit, L_NEW);
        return;
    }
    c->several_numbers |= n[2].count > 1;
    if (!layout_shape_fits(n[2].count, n[5].count))
        without(fit, L8 | L9);
    if (!layout_shape_fits(n[4].count, n[5].count))
        without(fit, LC);
    judge_attributes(c, &n[3], L8 | L9, fit);
    judge_link(c, &n[4], L8 | L9, fit);
    judge_attributes(c, &n[2], LC, fit);
    judge_link(c, &n[3], LC, fit);
}

// --- profiles ---

// What of a profile is judged after its samples.
struct profile_parts {
    struct numbers eleventh, twelfth; // attributes, but for 1.8's payload
    bool broken;                      // the eleventh is no list of numbers
    bool bytes[13];                   // which of its fields are bytes that are not empty
    uint64_t types, locations, old_attributes, old_links;
};

static uint64_t count_list(const struct wire_field *field)
{
    struct numbers n = {.count = 0};
    (void)!add_field(&n, field);
    return n.count;
}

static void read_part(struct profile_parts *p, const struct wire_field *field, bool in_profile)
{
    const uint32_t locations = in_profile ? 5 : 3;
    if (field->number < COUNT_OF(p->bytes))
        p->bytes[field->number] |= field->type == WIRE_LEN && field->bytes.len != 0;
    p->types += field->number == 1;
    p->old_attributes += field->number == 7;
    p->old_links += field->number == 9;
    if (field->number == locations && field->type != WIRE_FIXED64)
        p->locations += count_list(field);
    if (field->number == 11)
        p->broken |= !add_field(&p->eleventh, field);
    if (field->number == 12)
        (void)!add_field(&p->twelfth, field);
}

// Up to 1.7.
static bool old_sample_fits(const struct index_check *c, const struct profile_parts *p, bool in_profile,
                            struct bytes data)
{
    struct numbers n[SAMPLE_FIELDS];
    uint64_t attributes = in_profile ? p->old_attributes : c->present[OTLP_ATTRIBUTES];
    uint64_t links = in_profile ? p->old_links : c->present[OTLP_LINKS];
    uint64_t types = p->types == 0 ? 1 : p->types;
    if (!read_sample(data, n) || n[1].max > p->locations || n[2].max > p->locations - n[1].max)
        return false;
    bool counts =
        n[3].count == types || (types == 1 && n[6].count > 0 && (n[3].count == 0 || n[3].count == n[6].count));
    return counts && (n[4].count == 0 || n[4].max < attributes) && (n[5].count == 0 || n[5].max < links);
}

static bool old_profile_fits(const struct index_check *c, struct bytes data, bool in_profile)
{
    struct profile_parts p = {.types = 0};
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, data);
    while (layout_next(&r, &field))
        read_part(&p, &field, in_profile);
    if (r.error != NULL)
        return false;
    wire_reader_init(&r, data);
    while (layout_next(&r, &field))
        if (field.number == 2 && (field.type != WIRE_LEN || !old_sample_fits(c, &p, in_profile, field.bytes)))
            return false;
    return true;
}

static void judge_parts(struct index_check *c, const struct profile_parts *p, struct fit *fit)
{
    if (p->bytes[9] != p->bytes[10]) // format and payload go together
        fit->legal &= ~(uint32_t)(L9 | LC);
    if (p->bytes[10] != p->bytes[11])
        fit->legal &= ~(uint32_t)L8;
    if (p->broken)
        without(fit, L9 | LC);
    judge_attributes(c, &p->eleventh, L9 | LC, fit);
    judge_attributes(c, &p->twelfth, L8, fit);
}

static struct fit judge_profile(struct index_check *c, struct bytes data)
{
    struct fit fit = {c->f->view.possible, c->f->view.possible};
    struct profile_parts p = {.types = 0};
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, data);
    while ((fit.lenient & L_NEW) != 0 && layout_next(&r, &field)) {
        if (field.number == 2 && field.type == WIRE_LEN)
            judge_sample(c, field.bytes, &fit);
        else
            read_part(&p, &field, false);
    }
    judge_parts(c, &p, &fit);
    if ((fit.lenient & L5) != 0 && !old_profile_fits(c, data, true))
        without(&fit, L5);
    if ((fit.lenient & L7) != 0 && !old_profile_fits(c, data, false))
        without(&fit, L7);
    return fit;
}

// Once a layout is all that is left, a profile that does not fit it is bad.
static bool check_profile(struct layout_finder *f, void *arg, struct bytes data)
{
    struct index_check *c = arg;
    struct layout_view fields = {.possible = L_ALL};
    if (!layout_allows_profile(f, data, &fields) || (fields.possible & f->view.possible) == 0)
        return true; // it was passed over before
    struct fit fit = judge_profile(c, data);
    uint32_t fitting = fit.legal != 0 ? fit.legal : fit.lenient;
    c->any_fits |= fitting != 0;
    if (fitting != 0)
        layout_narrow(&f->view, fitting, (struct layout_sign){.what = "the indices and counts in a profile's samples"});
    return !layout_single(f->view.possible);
}

// --- the dictionary ---

static void count_element(void *arg, enum otlp_table table, struct bytes element)
{
    struct index_check *c = arg;
    c->first_is_no_zero |= table == OTLP_STRINGS && c->present[table] == 0 && element.len != 0;
    c->present[table]++;
}

struct element_walk {
    struct index_check *check;
    uint32_t attributes; // so far
};

static void read_element(void *arg, enum otlp_table table, struct bytes element)
{
    struct element_walk *w = arg;
    const uint32_t list = table == OTLP_MAPPINGS ? 5 : table == OTLP_LOCATIONS ? 4 : 0;
    struct numbers n;
    struct wire_reader r;
    struct wire_field field;
    if (list == 0 && table != OTLP_ATTRIBUTES)
        return;
    n.count = n.max = 0;
    wire_reader_init(&r, element);
    while (layout_next(&r, &field)) {
        if (table == OTLP_ATTRIBUTES && field.number == 1 && field.type == WIRE_VARINT)
            w->check->keys[w->attributes] = (uint32_t)field.varint;
        else if (list != 0 && field.number == list && field.type != WIRE_FIXED64)
            (void)!add_field(&n, &field);
    }
    w->attributes += table == OTLP_ATTRIBUTES;
    note_users(w->check, OTLP_ATTRIBUTES, &n, L_ALL);
}

static bool read_dictionary(struct index_check *c)
{
    static const enum otlp_table used[] = {OTLP_ATTRIBUTES, OTLP_LINKS};
    struct element_walk walk = {.check = c};
    (void)!layout_each_element(c->f, c, count_element); // damaged: the decoder says where
    for (int t = 0; t < OTLP_TABLE_COUNT; t++)
        c->lengths[t] = c->present[t] == 0 ? 1 : c->present[t];
    c->keys = mem_try_array(c->lengths[OTLP_ATTRIBUTES], sizeof *c->keys);
    if (c->keys == NULL)
        return false;
    memset(c->keys, 0, c->lengths[OTLP_ATTRIBUTES] * sizeof *c->keys);
    for (size_t i = 0; i < COUNT_OF(used); i++) {
        uint8_t *users = mem_try_alloc(c->lengths[used[i]]);
        if (users == NULL)
            return false;
        c->users[used[i]] = memset(users, 0, c->lengths[used[i]]);
    }
    (void)!layout_each_element(c->f, &walk, read_element);
    return true;
}

// Attributes of resources and scopes that name strings by index: since 1.10.
static bool attributes_refer(struct bytes holder, uint32_t number)
{
    struct wire_reader r, inner;
    struct wire_field attribute, field;
    wire_reader_init(&r, holder);
    while (layout_next(&r, &attribute)) {
        if (attribute.number != number || attribute.type != WIRE_LEN)
            continue;
        wire_reader_init(&inner, attribute.bytes);
        while (layout_next(&inner, &field))
            if (field.number == 3 && field.type == WIRE_VARINT && field.varint != 0)
                return true;
    }
    return false;
}

static bool find_references(struct bytes resource_profiles)
{
    struct wire_reader r, inner;
    struct wire_field field, scope;
    wire_reader_init(&r, resource_profiles);
    while (layout_next(&r, &field)) {
        if (field.number == 1 && field.type == WIRE_LEN && attributes_refer(field.bytes, 1))
            return true;
        if (field.number != 2 || field.type != WIRE_LEN)
            continue;
        wire_reader_init(&inner, field.bytes);
        while (layout_next(&inner, &scope))
            if (scope.number == 1 && scope.type == WIRE_LEN && attributes_refer(scope.bytes, 3))
                return true;
    }
    return false;
}

static void judge_references(struct layout_finder *f)
{
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, f->request);
    while (layout_next(&r, &field)) {
        if (field.number == 1 && field.type == WIRE_LEN && find_references(field.bytes)) {
            layout_narrow(&f->view, LC, (struct layout_sign){.what = "KeyValue", .number = 3, .type = WIRE_VARINT});
            return;
        }
    }
}

// --- orphans ---

// How many entries nothing refers to under this layout.
static uint32_t count_orphans(const struct index_check *c, enum otlp_layout layout)
{
    static const enum otlp_table tables[] = {OTLP_ATTRIBUTES, OTLP_LINKS};
    uint32_t orphans = 0;
    for (size_t t = 0; t < COUNT_OF(tables); t++)
        for (uint32_t i = 1; i < c->present[tables[t]]; i++)
            orphans += (c->users[tables[t]][i] & LAYOUT_BIT(layout)) == 0;
    return orphans;
}

// One without orphans, if every other has several. Fewer may have lost their samples on the way, and small values hit them
// by chance.
static void judge_orphans(struct index_check *c)
{
    struct layout_view *v = &c->f->view;
    enum { SEVERAL = 3 };
    uint32_t whole = 0, broken = 0;
    if (c->long_lists || !c->several_numbers || (v->possible & L_OLD) != 0)
        return;
    for (int l = OTLP_LAYOUT_1_8; l < OTLP_LAYOUTS; l++) {
        uint32_t orphans = count_orphans(c, (enum otlp_layout)l);
        whole |= orphans == 0 ? v->possible & LAYOUT_BIT(l) : 0;
        broken |= orphans >= SEVERAL ? v->possible & LAYOUT_BIT(l) : 0;
    }
    if (whole != 0 && (whole | broken) == v->possible)
        layout_narrow(v, whole, (struct layout_sign){.what = "entries of the dictionary that nothing would refer to"});
}

static uint32_t newest_bit(uint32_t layouts)
{
    uint32_t bit = LC;
    while ((bit & layouts) == 0)
        bit >>= 1;
    return bit;
}

enum err_code layout_check_indices(struct layout_finder *f, struct err *e)
{
    struct index_check c = {.f = f};
    enum err_code code = ERR_OK;
    if (!read_dictionary(&c))
        code = err_set(e, ERR_MEMORY, "out of memory while looking for the layout of an OTLP request");
    if (code == ERR_OK && c.first_is_no_zero && (f->view.possible & L_OLD) != 0)
        layout_narrow(&f->view, L_OLD, (struct layout_sign){.what = "the first string, which is not empty"});
    if (code == ERR_OK && (f->view.possible & LC) != 0)
        judge_references(f);
    if (code == ERR_OK && !layout_single(f->view.possible) && !layout_each_profile(f, &c, check_profile, e))
        code = ERR_INVALID;
    if (code == ERR_OK && !layout_single(f->view.possible) && !c.any_fits)
        layout_narrow(&f->view, newest_bit(f->view.possible),
                      (struct layout_sign){.what = "no profile is in order, whatever the layout, so it is the newest"});
    if (code == ERR_OK && !layout_single(f->view.possible))
        judge_orphans(&c);
    free(c.keys);
    for (int t = 0; t < OTLP_TABLE_COUNT; t++)
        free(c.users[t]);
    return code;
}
