// SPDX-License-Identifier: Apache-2.0
// Strings, mappings, functions and locations of a pprof file become the builder's.
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "codec/pprof_reader.h"

static bool string_index_wrong(struct pprof_reader *p, uint64_t index, const char *what)
{
    return pprof_fail(p, ERR_INVALID, "%s is string %lld, but the profile has %zu strings", what, (long long)index,
                      p->header.strings.count);
}

bool pprof_string(struct pprof_reader *p, uint64_t index, const char *what, uint32_t *id_out)
{
    *id_out = 0;
    if (index == 0) // whatever stands there: an unset field is empty
        return true;
    if (index >= p->header.strings.count)
        return string_index_wrong(p, index, what);
    if (p->string_ids[index] == PPROF_NONE)
        p->string_ids[index] = builder_string(p->builder, p->header.strings.items[index]);
    *id_out = p->string_ids[index];
    return true;
}

static bool repair_text(struct pprof_reader *p, struct bytes *text)
{
    size_t len = utf8_repair(*text, NULL);
    uint8_t *copy = arena_try_alloc(&p->scratch, len);
    if (copy == NULL)
        return pprof_no_memory(p);
    utf8_repair(*text, copy);
    *text = (struct bytes){copy, len};
    p->report->repaired_utf8++;
    return true;
}

bool pprof_text(struct pprof_reader *p, uint64_t index, const char *what, struct bytes *text_out)
{
    *text_out = (struct bytes){0};
    if (index == 0)
        return true;
    if (index >= p->header.strings.count)
        return string_index_wrong(p, index, what);
    *text_out = p->header.strings.items[index];
    return utf8_valid(*text_out) || repair_text(p, text_out);
}

void pprof_ids_fini(struct pprof_ids *ids)
{
    free(ids->ids);
    free(ids->values);
    free(ids->direct);
    index_table_fini(&ids->table);
}

static bool ids_init(struct pprof_reader *p, struct pprof_ids *ids, uint32_t count)
{
    ids->ids = mem_try_array(count, sizeof *ids->ids);
    ids->values = mem_try_array(count, sizeof *ids->values);
    return (ids->ids != NULL && ids->values != NULL) || pprof_no_memory(p);
}

static void ids_add(struct pprof_ids *ids, uint64_t id, uint32_t value)
{
    ids->ids[ids->count] = id;
    ids->values[ids->count++] = value;
    if (id > ids->max_id)
        ids->max_id = id;
}

// The same content twice under one id is harmless; unlike content would make samples ambiguous.
static bool duplicate(struct pprof_reader *p, const char *kind, uint64_t id, bool same)
{
    return same ||
           pprof_fail(p, ERR_INVALID, "%s id %llu is there twice with unlike content", kind, (unsigned long long)id);
}

static bool index_direct(struct pprof_reader *p, struct pprof_ids *ids, const char *kind)
{
    size_t count = (size_t)ids->max_id + 1;
    if (ids->count >= 512 && count < PPROF_TWO_BYTE_IDS)
        count = PPROF_TWO_BYTE_IDS;
    ids->direct = mem_try_array(count, sizeof *ids->direct);
    if (ids->direct == NULL)
        return pprof_no_memory(p);
    ids->direct_count = count;
    memset(ids->direct, 0xff, count * sizeof *ids->direct);
    for (uint32_t i = 0; i < ids->count; i++) {
        uint32_t *slot = &ids->direct[ids->ids[i]];
        if (*slot == PPROF_NONE)
            *slot = ids->values[i];
        else if (!duplicate(p, kind, ids->ids[i], *slot == ids->values[i]))
            return false;
    }
    return true;
}

static bool find_slot(const struct pprof_ids *ids, uint64_t id, uint64_t hash, uint32_t *slot, uint32_t *item)
{
    *slot = index_table_start(&ids->table, hash);
    for (; index_table_next(&ids->table, hash, slot, item); index_table_skip(&ids->table, slot)) {
        if (ids->ids[*item] == id)
            return true;
    }
    return false;
}

static bool index_sparse(struct pprof_reader *p, struct pprof_ids *ids, const char *kind)
{
    for (uint32_t i = 0; i < ids->count; i++) {
        if (!index_table_reserve(&ids->table))
            return pprof_no_memory(p);
        uint64_t hash = hash_bytes(&ids->ids[i], sizeof ids->ids[i]);
        uint32_t slot, item;
        if (!find_slot(ids, ids->ids[i], hash, &slot, &item))
            index_table_insert(&ids->table, hash, slot, i);
        else if (!duplicate(p, kind, ids->ids[i], ids->values[item] == ids->values[i]))
            return false;
    }
    return true;
}

uint32_t pprof_ids_search(const struct pprof_ids *ids, uint64_t id)
{
    uint32_t slot, item;
    if (ids->table.slots == NULL || !find_slot(ids, id, hash_bytes(&id, sizeof id), &slot, &item))
        return PPROF_NONE;
    return ids->values[item];
}

// After the last ids_add: ids near 1..n get an array, others a hash table.
static bool ids_index(struct pprof_reader *p, struct pprof_ids *ids, const char *kind)
{
    p->place = NULL;
    if (ids->count == 0)
        return true;
    bool dense = ids->max_id / 4 < (uint64_t)ids->count + 16;
    return dense ? index_direct(p, ids, kind) : index_sparse(p, ids, kind);
}

// Attributes of one mapping or location being gathered.
struct attribute_list {
    uint32_t ids[8];
    uint32_t count;
};

static void add_bool(struct pprof_reader *p, struct attribute_list *l, const char *key, bool is)
{
    struct value v = value_bool(is);
    l->ids[l->count++] = builder_attribute(p->builder, builder_string_text(p->builder, key), 0, &v);
}

static void add_flag(struct pprof_reader *p, struct attribute_list *l, const char *key, bool set)
{
    if (set)
        add_bool(p, l, key, true);
}

static bool add_build_id(struct pprof_reader *p, struct attribute_list *l, uint64_t index)
{
    struct bytes text;
    if (!pprof_text(p, index, "build_id", &text))
        return false;
    if (text.len == 0)
        return true;
    bool go = memchr(text.data, '/', text.len) != NULL;
    struct value v = value_string(text);
    uint32_t key =
        builder_string_text(p->builder, go ? "process.executable.build_id.go" : "process.executable.build_id.gnu");
    l->ids[l->count++] = builder_attribute(p->builder, key, 0, &v);
    return true;
}

// Mapping: id, memory_start, memory_limit, file_offset, filename, build_id, has_functions, has_filenames,
// has_line_numbers, has_inline_frames.
static bool read_mapping(struct pprof_reader *p, struct bytes message)
{
    uint64_t n[10];
    struct batch_mapping m = {0};
    struct attribute_list l = {.count = 0};
    if (!pprof_read_numbers(p, message, n, COUNT_OF(n)))
        return false;
    if (n[0] == 0)
        return pprof_fail(p, ERR_INVALID, "its id is 0");
    if (!pprof_string(p, n[4], "filename", &m.filename) || !add_build_id(p, &l, n[5]))
        return false;
    add_flag(p, &l, "pprof.mapping.has_functions", n[6] != 0);
    add_flag(p, &l, "pprof.mapping.has_filenames", n[7] != 0);
    add_flag(p, &l, "pprof.mapping.has_line_numbers", n[8] != 0);
    add_flag(p, &l, "pprof.mapping.has_inline_frames", n[9] != 0);
    m.memory_start = n[1];
    m.memory_limit = n[2];
    m.file_offset = n[3];
    if (l.count == 0 && m.filename == 0 && (n[1] | n[2] | n[3]) == 0)
        add_bool(p, &l, "pprof.mapping.has_functions", false); // else it would be element 0: no mapping
    m.attribute_set = builder_attribute_set(p->builder, l.ids, l.count);
    ids_add(&p->mappings, n[0], builder_mapping(p->builder, &m));
    return true;
}

// Function: id, name, system_name, filename, start_line.
static bool read_function(struct pprof_reader *p, struct bytes message)
{
    uint64_t n[5];
    struct batch_function f = {0};
    if (!pprof_read_numbers(p, message, n, COUNT_OF(n)) || !pprof_string(p, n[1], "name", &f.name) ||
        !pprof_string(p, n[2], "system_name", &f.system_name) || !pprof_string(p, n[3], "filename", &f.filename))
        return false;
    f.start_line = (int64_t)n[4];
    ids_add(&p->functions, n[0], builder_function(p->builder, &f));
    return true;
}

static uint32_t find_function(struct pprof_reader *p, uint64_t id)
{
    if (!p->pair_functions)
        return id == 0 ? PPROF_NONE : pprof_ids_find(&p->functions, id);
    uint32_t k = p->line_number++;
    return id == 0 || id == (uint64_t)k + 1 ? p->functions.values[k] : PPROF_NONE;
}

// Line: function_id, line, column.
static bool read_line(struct pprof_reader *p, struct bytes message, uint32_t count)
{
    uint64_t n[3];
    if (!pprof_read_numbers(p, message, n, COUNT_OF(n)))
        return false;
    uint32_t function = find_function(p, n[0]);
    if (function == PPROF_NONE)
        return pprof_fail(p, ERR_INVALID, "line %u: function id %llu is not in the profile", count,
                          (unsigned long long)n[0]);
    void *lines = p->lines;
    if (!mem_try_grow(&lines, &p->line_capacity, (size_t)count + 1, sizeof *p->lines, SIZE_MAX / sizeof *p->lines))
        return pprof_no_memory(p);
    p->lines = lines;
    p->lines[count] = (struct batch_line){.function = function, .line = (int64_t)n[1], .column = (int64_t)n[2]};
    return true;
}

struct location_numbers {
    uint64_t id, mapping, address, folded;
    uint32_t line_count;
};

static bool location_field(struct pprof_reader *p, struct location_numbers *n, const struct wire_field *f)
{
    if (f->number == 4 && f->type == WIRE_LEN)
        return read_line(p, f->bytes, n->line_count++);
    if (f->number > 5)
        return true;
    if (f->type != WIRE_VARINT || f->number == 4)
        return pprof_fail(p, ERR_INVALID, "field %u has wire type %d", f->number, (int)f->type);
    uint64_t *const fields[] = {&n->id, &n->mapping, &n->address, NULL, &n->folded};
    *fields[f->number - 1] = f->varint;
    return true;
}

static uint32_t location_mapping(struct pprof_reader *p, uint64_t id)
{
    uint32_t mapping = id == 0 ? 0 : pprof_ids_find(&p->mappings, id);
    if (mapping != PPROF_NONE)
        return mapping;
    p->report->unknown_mappings++;
    return 0;
}

static bool read_location(struct pprof_reader *p, struct bytes message)
{
    struct location_numbers n = {0};
    struct attribute_list l = {.count = 0};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, message);
    while (wire_next(&r, &f)) {
        if (!location_field(p, &n, &f))
            return false;
    }
    if (r.error != NULL)
        return pprof_damaged(p, &r);
    if (n.id == 0)
        return pprof_fail(p, ERR_INVALID, "its id is 0");
    uint32_t mapping = location_mapping(p, n.mapping);
    if (p->unused != NULL && p->unused[p->place_number])
        return true;
    add_flag(p, &l, "pprof.location.is_folded", n.folded != 0);
    struct batch_location location = {
        .mapping = mapping, .attribute_set = builder_attribute_set(p->builder, l.ids, l.count), .address = n.address};
    uint32_t value = builder_location(p->builder, &location, p->lines, n.line_count);
    p->location_mappings[value] = mapping;
    ids_add(&p->locations, n.id, value);
    return true;
}

static bool read_section(struct pprof_reader *p, const struct pprof_section *s, uint32_t field, const char *place,
                         bool (*read)(struct pprof_reader *, struct bytes))
{
    struct pprof_items items = pprof_items_of(s, field);
    struct bytes message;
    p->place = place;
    for (p->place_number = 0; pprof_items_next(&items, &message); p->place_number++) {
        if (!read(p, message))
            return false;
        if (p->place_number % 1024 == 1023 && builder_failed(p->builder))
            return false; // builder_finish says why
    }
    p->place = NULL;
    return true;
}

static bool count_lines(struct pprof_reader *p, struct bytes message)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, message);
    while (wire_next(&r, &f))
        p->line_number += f.number == 4;
    return true;
}

// .NET's client leaves every function id out (field case A8); its lines count through the functions.
static bool index_functions(struct pprof_reader *p)
{
    if (p->functions.count == 0 || p->functions.max_id != 0) {
        for (uint32_t i = 0; i < p->functions.count; i++) {
            if (p->functions.ids[i] == 0)
                return pprof_fail(p, ERR_INVALID, "function %u: its id is 0", i);
        }
        return ids_index(p, &p->functions, "function");
    }
    if (!read_section(p, &p->header.locations, 4, "location", count_lines))
        return false;
    if (p->line_number != p->functions.count)
        return pprof_fail(p, ERR_INVALID,
                          "all %u functions have id 0 and there are %u lines, so they cannot be paired by position",
                          p->functions.count, p->line_number);
    p->pair_functions = true;
    p->line_number = 0;
    p->report->repaired_functions += p->functions.count;
    return true;
}

static bool init_tables(struct pprof_reader *p)
{
    const struct pprof_header *h = &p->header;
    p->string_ids = mem_try_array(h->strings.count, sizeof *p->string_ids);
    p->location_mappings = mem_try_array((size_t)h->locations.count + 1, sizeof *p->location_mappings);
    if (p->string_ids == NULL || p->location_mappings == NULL)
        return pprof_no_memory(p);
    memset(p->string_ids, 0xff, h->strings.count * sizeof *p->string_ids);
    return ids_init(p, &p->mappings, h->mappings.count) && ids_init(p, &p->functions, h->functions.count) &&
           ids_init(p, &p->locations, h->locations.count);
}

static bool read_tables(struct pprof_reader *p)
{
    const struct pprof_header *h = &p->header;
    return init_tables(p) && read_section(p, &h->mappings, 3, "mapping", read_mapping) &&
           ids_index(p, &p->mappings, "mapping") && read_section(p, &h->functions, 5, "function", read_function) &&
           index_functions(p) && read_section(p, &h->locations, 4, "location", read_location) &&
           ids_index(p, &p->locations, "location");
}

static void forget_tables(struct pprof_reader *p)
{
    struct pprof_ids *const ids[] = {&p->mappings, &p->functions, &p->locations};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        pprof_ids_fini(ids[i]);
        *ids[i] = (struct pprof_ids){.ids = NULL};
    }
    free(p->string_ids);
    free(p->location_mappings);
    p->string_ids = p->location_mappings = NULL;
    p->pair_functions = false;
    p->line_number = 0;
    builder_destroy(&p->builder);
}

// From the start, without the locations that no sample uses.
static bool read_again(struct pprof_reader *p, const uint8_t *unused)
{
    forget_tables(p);
    p->builder = builder_create(p->limits->max_batch_bytes);
    if (p->builder == NULL)
        return pprof_no_memory(p);
    p->unused = unused;
    bool good = read_tables(p);
    p->unused = NULL;
    return good;
}

bool pprof_read_tables(struct pprof_reader *p)
{
    const struct decode_report before = *p->report;
    uint8_t *unused = NULL;
    bool good = read_tables(p) && pprof_find_unused(p, &unused);
    if (good && unused != NULL) {
        *p->report = before;
        good = read_again(p, unused);
    }
    free(unused);
    free(p->location_mappings);
    p->location_mappings = NULL;
    return good;
}
