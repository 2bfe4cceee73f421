// SPDX-License-Identifier: Apache-2.0
#include "profile/validate.h"

#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/stack.h"

#include <inttypes.h>

static enum err_code bad_id(struct err *e, const char *what, uint32_t at, const char *field, uint32_t id,
                            uint32_t count)
{
    return err_set(e, ERR_INVALID, "%s %u: %s %u is not below %u", what, at, field, id, count);
}

// Leaves the function with an error when id is not in the table.
#define ID(what, at, field, id, count)                                                                                 \
    do {                                                                                                               \
        if ((id) >= (count))                                                                                           \
            return bad_id(e, what, at, field, id, count);                                                              \
    } while (0)

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        enum err_code code_ = (call);                                                                                  \
        if (code_ != ERR_OK)                                                                                           \
            return code_;                                                                                              \
    } while (0)

static bool all_zero(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static enum err_code check_no_empty_table(const struct dictionary *d, struct err *e)
{
    if (d->string_count > 0 && d->mapping_count > 0 && d->location_count > 0 && d->function_count > 0 &&
        d->link_count > 0 && d->attribute_count > 0 && d->stack_count > 0 && d->attribute_set_count > 0)
        return ERR_OK;
    return err_set(e, ERR_INVALID, "a table of the dictionary has no element 0");
}

static bool function_zero(const struct batch_function *f)
{
    return f->name == 0 && f->system_name == 0 && f->filename == 0 && f->start_line == 0;
}

static bool attribute_zero(const struct batch_attribute *a)
{
    return a->key == 0 && a->unit == 0 && a->value.kind == VALUE_EMPTY;
}

static bool location_zero(const struct batch_location *l)
{
    return l->mapping == 0 && l->line_count == 0 && l->attribute_set == 0 && l->address == 0;
}

static enum err_code check_zeros(const struct dictionary *d, struct err *e)
{
    const char *bad = NULL;
    if (d->strings[0].len != 0)
        bad = "string";
    else if (!all_zero(&d->mappings[0], sizeof d->mappings[0]))
        bad = "mapping";
    else if (!location_zero(&d->locations[0]))
        bad = "location";
    else if (!function_zero(&d->functions[0]))
        bad = "function";
    else if (!all_zero(&d->links[0], sizeof d->links[0]))
        bad = "link";
    else if (!attribute_zero(&d->attributes[0]))
        bad = "attribute";
    else if (d->stacks[0].count != 0)
        bad = "stack";
    else if (d->attribute_sets[0].count != 0)
        bad = "attribute set";
    return bad == NULL ? ERR_OK : err_set(e, ERR_INVALID, "%s 0 is not the zero value", bad);
}

static bool string_known(const struct dictionary *d, const struct index_table *t, uint64_t hash, uint32_t i,
                         uint32_t *slot_out)
{
    uint32_t slot = index_table_start(t, hash), id;
    while (index_table_next(t, hash, &slot, &id)) {
        if (bytes_equal(d->strings[id], d->strings[i]))
            return true;
        index_table_skip(t, &slot);
    }
    *slot_out = slot;
    return false;
}

static enum err_code check_each_string(const struct dictionary *d, struct index_table *seen, struct err *e)
{
    for (uint32_t i = 0; i < d->string_count; i++) {
        if (!utf8_valid(d->strings[i]))
            return err_set(e, ERR_INVALID, "string %u is not UTF-8", i);
        if (!index_table_reserve(seen))
            return err_set(e, ERR_MEMORY, "out of memory while validating a batch");
        uint64_t hash = hash_bytes(d->strings[i].data, d->strings[i].len);
        uint32_t slot;
        if (string_known(d, seen, hash, i, &slot))
            return err_set(e, ERR_INVALID, "string %u is there twice", i);
        index_table_insert(seen, hash, slot, i);
    }
    return ERR_OK;
}

static enum err_code check_strings(const struct dictionary *d, struct err *e)
{
    struct index_table seen = {0};
    enum err_code code = check_each_string(d, &seen, e);
    index_table_fini(&seen);
    return code;
}

static enum err_code check_mappings(const struct dictionary *d, struct err *e)
{
    for (uint32_t i = 0; i < d->mapping_count; i++) {
        ID("mapping", i, "filename", d->mappings[i].filename, d->string_count);
        ID("mapping", i, "attribute set", d->mappings[i].attribute_set, d->attribute_set_count);
    }
    return ERR_OK;
}

static enum err_code check_functions(const struct dictionary *d, struct err *e)
{
    for (uint32_t i = 0; i < d->function_count; i++) {
        ID("function", i, "name", d->functions[i].name, d->string_count);
        ID("function", i, "system name", d->functions[i].system_name, d->string_count);
        ID("function", i, "filename", d->functions[i].filename, d->string_count);
    }
    return ERR_OK;
}

static enum err_code check_locations(const struct dictionary *d, struct err *e)
{
    for (uint32_t i = 0; i < d->location_count; i++) {
        const struct batch_location *l = &d->locations[i];
        ID("location", i, "mapping", l->mapping, d->mapping_count);
        ID("location", i, "attribute set", l->attribute_set, d->attribute_set_count);
        if (l->line_start > d->line_count || l->line_count > d->line_count - l->line_start)
            return err_set(e, ERR_INVALID, "location %u: lines are out of range", i);
    }
    for (uint32_t i = 0; i < d->line_count; i++)
        ID("line", i, "function", d->lines[i].function, d->function_count);
    return ERR_OK;
}

static enum err_code check_attributes(const struct dictionary *d, struct err *e)
{
    for (uint32_t i = 0; i < d->attribute_count; i++) {
        ID("attribute", i, "key", d->attributes[i].key, d->string_count);
        ID("attribute", i, "unit", d->attributes[i].unit, d->string_count);
    }
    return ERR_OK;
}

static enum err_code check_ranges(const char *what, const struct batch_range *ranges, uint32_t count, size_t flat_count,
                                  struct err *e)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ranges[i].start > flat_count || ranges[i].count > flat_count - ranges[i].start)
            return err_set(e, ERR_INVALID, "%s %u is out of range", what, i);
    }
    return ERR_OK;
}

static enum err_code check_flat(const char *what, const char *field, const uint32_t *ids, size_t count, uint32_t limit,
                                struct err *e)
{
    for (size_t i = 0; i < count; i++)
        ID(what, (uint32_t)i, field, ids[i], limit);
    return ERR_OK;
}

static enum err_code check_unique_keys(const struct dictionary *d, uint32_t *last_set, struct err *e)
{
    memset(last_set, 0xFF, d->string_count * sizeof *last_set);
    for (uint32_t s = 0; s < d->attribute_set_count; s++) {
        struct batch_range range = d->attribute_sets[s];
        for (uint32_t i = 0; i < range.count; i++) {
            uint32_t key = d->attributes[d->set_attributes[range.start + i]].key;
            if (last_set[key] == s)
                return err_set(e, ERR_INVALID, "attribute set %u has a key twice", s);
            last_set[key] = s;
        }
    }
    return ERR_OK;
}

static enum err_code check_sets(const struct dictionary *d, struct err *e)
{
    TRY(check_ranges("attribute set", d->attribute_sets, d->attribute_set_count, d->set_attribute_count, e));
    TRY(check_flat("attribute set member", "attribute", d->set_attributes, d->set_attribute_count, d->attribute_count,
                   e));
    uint32_t *last_set = mem_try_array(d->string_count, sizeof *last_set);
    if (last_set == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while validating a batch");
    enum err_code code = check_unique_keys(d, last_set, e);
    free(last_set);
    return code;
}

// A varint of the least size, below 2^32, that ends before the end; NULL if it is not one.
static const uint8_t *take_id(const uint8_t *at, const uint8_t *end, uint32_t *id_out)
{
    uint64_t id = 0;
    for (unsigned shift = 0; at < end && shift < 7 * STACK_ID_BYTES; shift += 7) {
        uint64_t byte = *at++;
        id |= (byte & 0x7f) << shift;
        if (byte >= 0x80)
            continue;
        *id_out = (uint32_t)id;
        return id > UINT32_MAX || (byte == 0 && shift > 0) ? NULL : at;
    }
    return NULL;
}

static enum err_code check_stack(const struct dictionary *d, uint32_t stack, bool *used, struct err *e)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, stack);
    while (r.at != r.end) {
        r.at = take_id(r.at, r.end, &location);
        if (r.at == NULL)
            return err_set(e, ERR_INVALID, "stack %u has a location that is no varint of the least size", stack);
        ID("stack", stack, "location", location, d->location_count);
        used[location] = true;
    }
    return ERR_OK;
}

static enum err_code check_each_stack(const struct dictionary *d, bool *used, struct err *e)
{
    for (uint32_t i = 0; i < d->stack_count; i++)
        TRY(check_stack(d, i, used, e));
    for (uint32_t i = 1; d->every_location_used && i < d->location_count; i++)
        if (!used[i])
            return err_set(e, ERR_INVALID, "location %u is in no stack, but every location is said to be", i);
    return ERR_OK;
}

static enum err_code check_stacks(const struct dictionary *d, struct err *e)
{
    TRY(check_ranges("stack", d->stacks, d->stack_count, d->stack_byte_count, e));
    bool *used = mem_try_array(d->location_count, sizeof *used);
    if (used == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while validating a batch");
    memset(used, 0, d->location_count * sizeof *used);
    enum err_code code = check_each_stack(d, used, e);
    free(used);
    return code;
}

static enum err_code check_dictionary(const struct dictionary *d, struct err *e)
{
    TRY(check_no_empty_table(d, e));
    TRY(check_zeros(d, e));
    TRY(check_strings(d, e));
    TRY(check_mappings(d, e));
    TRY(check_functions(d, e));
    TRY(check_locations(d, e));
    TRY(check_attributes(d, e));
    TRY(check_stacks(d, e));
    return check_sets(d, e);
}

static enum err_code check_column(const char *field, const uint32_t *column, uint32_t count, uint32_t limit,
                                  struct err *e)
{
    bool any = false;
    for (uint32_t i = 0; column != NULL && i < count; i++) {
        ID("sample", i, field, column[i], limit);
        any |= column[i] != 0;
    }
    if (column != NULL && !any)
        return err_set(e, ERR_INVALID, "the column of the %ss is all zero", field);
    return ERR_OK;
}

static enum err_code check_columns(const struct dictionary *d, const struct columns *c, struct err *e)
{
    if (c->stacks == NULL && c->sample_count > 0)
        return err_set(e, ERR_INVALID, "%u samples have no column of stacks", c->sample_count);
    for (uint32_t i = 0; i < c->sample_count; i++)
        ID("sample", i, "stack", c->stacks[i], d->stack_count);
    TRY(check_column("attribute set", c->attribute_sets, c->sample_count, d->attribute_set_count, e));
    return check_column("link", c->links, c->sample_count, d->link_count, e);
}

static enum err_code check_ends(const uint32_t *ends, uint32_t count, struct err *e)
{
    for (uint32_t i = 1; ends != NULL && i < count; i++) {
        if (ends[i] < ends[i - 1])
            return err_set(e, ERR_INVALID, "sample %u ends before it starts", i);
    }
    return ERR_OK;
}

static enum err_code check_shape(const struct observations *o, uint32_t i, struct err *e)
{
    uint32_t start, values, timestamps;
    observations_values(o, i, &start, &values);
    observations_timestamps(o, i, &start, &timestamps);
    if (timestamps == 0 ? values == 1 : values == 0 || values == timestamps)
        return ERR_OK;
    return err_set(e, ERR_INVALID, "sample %u has %u values and %u timestamps", i, values, timestamps);
}

static enum err_code check_observations(const struct observations *o, struct err *e)
{
    if ((o->timestamps == NULL) != (o->timestamp_ends == NULL))
        return err_set(e, ERR_INVALID, "timestamps and their ends go together");
    if (o->values == NULL && o->value_ends != NULL)
        return err_set(e, ERR_INVALID, "there are ends of values but no values");
    TRY(check_ends(o->value_ends, o->sample_count, e));
    TRY(check_ends(o->timestamp_ends, o->sample_count, e));
    for (uint32_t i = 0; i < o->sample_count; i++)
        TRY(check_shape(o, i, e));
    return ERR_OK;
}

static enum err_code check_profile(const struct dictionary *d, const struct profile *p, struct err *e)
{
    ID("sample type", 0, "type", p->sample_type.type, d->string_count);
    ID("sample type", 0, "unit", p->sample_type.unit, d->string_count);
    ID("period type", 0, "type", p->period_type.type, d->string_count);
    ID("period type", 0, "unit", p->period_type.unit, d->string_count);
    ID("profile", 0, "attribute set", p->attribute_set, d->attribute_set_count);
    if (p->columns->sample_count != p->observations->sample_count)
        return err_set(e, ERR_INVALID, "%u samples have %u observations", p->columns->sample_count,
                       p->observations->sample_count);
    if ((p->original_payload.len == 0) != (p->original_payload_format.len == 0))
        return err_set(e, ERR_INVALID, "original payload and its format go together");
    if (p->has_profile_id && all_zero(p->profile_id, sizeof p->profile_id))
        return err_set(e, ERR_INVALID, "the profile id is all zero");
    TRY(check_columns(d, p->columns, e));
    return check_observations(p->observations, e);
}

static enum err_code check_resource(const struct batch *b, uint32_t resource, uint64_t *profiles, uint64_t *samples,
                                    struct err *e)
{
    const struct resource *r = b->resources[resource];
    for (uint32_t s = 0; s < r->scope_count; s++) {
        for (uint32_t p = 0; p < r->scopes[s]->profile_count; p++) {
            const struct profile *profile = &r->scopes[s]->profiles[p];
            enum err_code code = check_profile(b->dictionary, profile, e);
            if (code != ERR_OK) {
                err_prefix(e, "resource %u, scope %u, profile %u", resource, s, p);
                return code;
            }
            *samples += profile->columns->sample_count;
        }
        *profiles += r->scopes[s]->profile_count;
    }
    return ERR_OK;
}

enum err_code batch_validate(const struct batch *b, struct err *e)
{
    uint64_t profiles = 0, samples = 0;
    TRY(check_dictionary(b->dictionary, e));
    for (uint32_t r = 0; r < b->resource_count; r++)
        TRY(check_resource(b, r, &profiles, &samples, e));
    if (profiles != b->profile_count || samples != b->sample_count)
        return err_set(e, ERR_INVALID,
                       "the batch counts %" PRIu64 " profiles and %" PRIu64 " samples, but has %" PRIu64
                       " and %" PRIu64,
                       b->profile_count, b->sample_count, profiles, samples);
    return ERR_OK;
}
