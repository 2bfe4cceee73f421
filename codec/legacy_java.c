// SPDX-License-Identifier: Apache-2.0
// Java's profiles in gperftools' clothes: heap ("--- heapz 1 ---") and contention as text, and what stands behind a
// binary CPU profile. Stacks hold numbers, and lines "0x3 com.example.f (File.java:103)" say which frame each is.
#include "base/hash.h"
#include "base/mem.h"
#include "codec/legacy.h"

enum { JAVA_HEAP_RATE = 524288 };

static bool is_word(uint8_t c)
{
    return c == ' ' || c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

// "sampling period = 100"; not one when other characters are next to the =.
static bool split_attribute(struct bytes line, struct bytes *key_out, struct bytes *value_out)
{
    size_t at, start, end;
    if (!legacy_find(line, "=", &at))
        return false;
    for (start = at; start > 0 && is_word(line.data[start - 1]);)
        start--;
    for (end = at + 1; end < line.len && is_word(line.data[end]);)
        end++;
    *key_out = legacy_trim((struct bytes){line.data + start, at - start});
    *value_out = legacy_trim((struct bytes){line.data + at + 1, end - at - 1});
    return start < at && end > at + 1;
}

static bool bad_value(struct legacy *l, const char *key)
{
    return legacy_fail(l, ERR_INVALID, "%s is no integer of 64 bits", key);
}

static bool set_contention_attribute(struct legacy *l, struct bytes key, struct bytes value)
{
    int64_t millis;
    if (bytes_equal_text(key, "sampling period")) {
        l->period_type = legacy_type_of("contentions", "count");
        return legacy_go_int64(value, &l->period) || bad_value(l, "sampling period");
    }
    if (bytes_equal_text(key, "ms since reset")) {
        if (!legacy_go_int64(value, &millis))
            return bad_value(l, "ms since reset");
        l->duration_nanos = legacy_multiply(millis, 1000000);
        return true;
    }
    return legacy_fail(l, ERR_INVALID,
                       "a key that is not known; known are format, resolution, sampling period and ms "
                       "since reset");
}

static bool set_attribute(struct legacy *l, bool heap, struct bytes key, struct bytes value)
{
    if (bytes_equal_text(key, "format"))
        return bytes_equal_text(value, "java") || legacy_fail(l, ERR_UNSUPPORTED, "its format is not java");
    if (bytes_equal_text(key, "resolution")) {
        l->types[1].unit = value;
        l->type_count = 2;
        return true;
    }
    return heap ? legacy_fail(l, ERR_INVALID, "a key that is not known; known are format and resolution")
                : set_contention_attribute(l, key, value);
}

// "1400 100 @ 0x3 0x4": amount, count, stack. False and no failure: it is none.
static bool split_sample(struct bytes line, int64_t *amount, int64_t *count, struct bytes *stack)
{
    struct bytes digits[2];
    for (int i = 0; i < 2; i++) {
        const size_t before = line.len;
        legacy_take_spaces(&line);
        if ((i > 0 && line.len == before) || !legacy_take_digits(&line, &digits[i]))
            return false;
    }
    const size_t before = line.len;
    legacy_take_spaces(&line);
    *stack = line;
    return line.len < before && legacy_take(stack, "@") && legacy_begins(*stack, " ") &&
           legacy_go_int64(digits[0], amount) && legacy_go_int64(digits[1], count);
}

static bool read_sample(struct legacy *l, bool heap, int64_t amount, int64_t count, struct bytes stack)
{
    int64_t values[] = {count, amount}, block = 0;
    if (l->type_count == 0)
        return legacy_fail(l, ERR_INVALID, "a sample before the line resolution = UNIT");
    if (heap && count == 0)
        return legacy_fail(l, ERR_INVALID, "a sample of no objects");
    if (heap) {
        block = amount / count;
        legacy_unsample(JAVA_HEAP_RATE, &values[0], &values[1]);
    } else if (l->period != 0) {
        values[0] = legacy_multiply(count, l->period);
        values[1] = legacy_multiply(amount, l->period);
    }
    return legacy_addresses(l, legacy_stack_text(stack), LEGACY_AS_IS) && legacy_sample(l, values, block);
}

// *line: the first that is no attribute, data NULL = there is none.
static bool read_attributes(struct legacy *l, bool heap, struct bytes *line)
{
    struct bytes key, value;
    while (legacy_line(l, line)) {
        *line = legacy_trim(*line);
        if (line->len == 0)
            continue;
        if (!split_attribute(*line, &key, &value))
            return true;
        if (!set_attribute(l, heap, key, value))
            return false;
    }
    *line = (struct bytes){0};
    return l->code == ERR_OK;
}

static bool read_text(struct legacy *l, bool heap)
{
    struct bytes line, stack;
    int64_t amount, count;
    if (!read_attributes(l, heap, &line))
        return false;
    for (bool more = line.data != NULL; more; more = legacy_line(l, &line)) {
        line = legacy_trim(line);
        if (line.len == 0)
            continue;
        if (!split_sample(line, &amount, &count, &stack))
            return legacy_read_java_symbols(l, line);
        if (!read_sample(l, heap, amount, count, stack))
            return false;
    }
    return l->code == ERR_OK && legacy_read_java_symbols(l, (struct bytes){0});
}

bool legacy_read_java_heap(struct legacy *l, struct bytes header)
{
    (void)header;
    l->types[0] = legacy_type_of("inuse_objects", "count");
    l->types[1].type = BYTES_LITERAL("inuse_space");
    l->type_count = 0; // until the unit is known
    l->has_blocks = true;
    l->drop_frames = legacy_drop_heap;
    l->keep_frames = legacy_keep_heap;
    return read_text(l, true);
}

bool legacy_read_java_contention(struct legacy *l)
{
    l->types[0] = legacy_type_of("contentions", "count");
    l->types[1].type = BYTES_LITERAL("delay");
    l->type_count = 0;
    l->period = 0;
    l->period_type = (struct legacy_type){0};
    l->drop_frames = legacy_drop_lock;
    return read_text(l, false);
}

// --- names ---

// Where the last " (" begins such that what is between it and the closing one has that form; the name ends before it.
static bool split_place(struct bytes text, bool with_line, struct bytes *name_out, struct bytes *place_out)
{
    if (text.len < 3 || text.data[text.len - 1] != ')')
        return false;
    size_t end = text.len - 1, colon = end;
    for (; with_line && colon > 0 && text.data[colon - 1] >= '0' && text.data[colon - 1] <= '9';)
        colon--;
    if (with_line) {
        if (colon == end)
            return false;
        colon -= colon > 0 && text.data[colon - 1] == '-';
        if (colon == 0 || text.data[colon - 1] != ':')
            return false;
        end = colon - 1;
    }
    for (size_t at = end; at-- > 1;) {
        if (text.data[at] != '(' || !legacy_is_space(text.data[at - 1]) || (with_line && at + 1 == end))
            continue;
        *name_out = (struct bytes){text.data, at - 1};
        *place_out = (struct bytes){text.data + at + 1, end - at - 1};
        return true;
    }
    return false;
}

static int64_t line_number(struct bytes text)
{
    size_t start = text.len - 1;
    int64_t line;
    while (text.data[start - 1] >= '0' && text.data[start - 1] <= '9')
        start--;
    struct bytes digits = {text.data + start, text.len - 1 - start};
    const bool negative = text.data[start - 1] == '-';
    return !negative && legacy_take_int64(&digits, &line) ? line : 0;
}

// The last part of a path.
static struct bytes base_name(struct bytes path)
{
    while (path.len > 1 && path.data[path.len - 1] == '/')
        path.len--;
    for (size_t i = path.len; i-- > 0;)
        if (path.data[i] == '/' && path.len > 1)
            return (struct bytes){path.data + i + 1, path.len - i - 1};
    return path.len > 0 ? path : BYTES_LITERAL(".");
}

static bool function_of(struct legacy *l, struct bytes name, struct bytes file, uint32_t *id_out)
{
    const uint64_t hash = hash_bytes(name.data, name.len);
    void *functions = l->functions;
    if (!index_table_reserve(&l->function_table) ||
        !mem_try_grow(&functions, &l->function_capacity, l->function_count + 1, sizeof *l->functions, UINT32_MAX - 1))
        return legacy_no_memory(l);
    l->functions = functions;
    uint32_t slot = index_table_start(&l->function_table, hash);
    for (; index_table_next(&l->function_table, hash, &slot, id_out); index_table_skip(&l->function_table, &slot))
        if (bytes_equal(l->functions[*id_out].name, name))
            return true;
    *id_out = (uint32_t)l->function_count++;
    l->functions[*id_out] = (struct legacy_function){name, file};
    index_table_insert(&l->function_table, hash, slot, *id_out);
    return true;
}

// What a number is: "function (file:line)", "function (path of a library)", or a state such as "GC".
static bool name_location(struct legacy *l, uint32_t location, struct bytes text)
{
    struct bytes name = text, file = {0};
    int64_t line = 0;
    if (split_place(text, true, &name, &file))
        line = line_number(text);
    else if (split_place(text, false, &name, &file))
        file = base_name(file);
    else if (legacy_has(text, "generated stub/JIT"))
        name = BYTES_LITERAL("STUB");
    l->locations[location].line = line;
    return function_of(l, name, file, &l->locations[location].function);
}

static bool read_name(struct legacy *l, struct bytes line)
{
    uint64_t number;
    bool too_large;
    line = legacy_trim(line);
    if (!legacy_take(&line, "0x") || !legacy_take_hex(&line, &number, &too_large) || line.len == 0 ||
        !legacy_is_space(*line.data))
        return true;
    if (too_large)
        return legacy_fail(l, ERR_INVALID, "a number of a frame has more than 64 bits");
    const uint32_t location = legacy_find_location(l, number);
    return location == LEGACY_NONE || name_location(l, location, legacy_trim(line));
}

// Lines from this one on. The numbers mean nothing afterwards: no location has an address.
bool legacy_read_java_symbols(struct legacy *l, struct bytes line)
{
    bool good = read_name(l, line);
    while (good && legacy_line(l, &line))
        good = read_name(l, line);
    if (!good || !legacy_settle(l))
        return false;
    for (size_t i = 0; i < l->location_count; i++)
        l->locations[i].address = 0;
    return true;
}
