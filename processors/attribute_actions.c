// SPDX-License-Identifier: Apache-2.0
#include "processors/attribute_actions.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { SHA256_BYTES = 32, MAX_PRINTED_BYTES = 64 << 20, MAX_NUMBER_TEXT = 400 };

enum err_code attribute_no_memory(struct err *e)
{
    return err_set(e, ERR_MEMORY, "out of memory while changing attributes");
}

static struct unit_attribute *find(struct attribute_edit *edit, struct bytes key)
{
    for (uint32_t i = 0; i < edit->count; i++)
        if (bytes_equal(edit->items[i].key, key))
            return &edit->items[i];
    return NULL;
}

static void set(struct attribute_edit *edit, struct unit_attribute *item, const struct value *v, struct bytes unit)
{
    if (value_equal(&item->value, v) && bytes_equal(item->unit, unit))
        return;
    item->value = *v;
    item->unit = unit;
    edit->changed = true;
}

static void upsert(struct attribute_edit *edit, struct bytes key, const struct value *v, struct bytes unit)
{
    struct unit_attribute *old = find(edit, key);
    if (old != NULL) {
        set(edit, old, v, unit);
        return;
    }
    edit->items[edit->count++] = (struct unit_attribute){key, unit, *v};
    edit->changed = true;
}

static void put(struct attribute_edit *edit, const struct attribute_step *step)
{
    const struct unit_attribute *old = find(edit, step->key), *from = NULL;
    if ((old != NULL && step->action == ACTION_INSERT) || (old == NULL && step->action == ACTION_UPDATE))
        return;
    if (step->from_attribute.len != 0)
        from = find(edit, step->from_attribute);
    if (from != NULL) {
        struct value v = from->value; // upsert may write where it lies
        upsert(edit, step->key, &v, from->unit);
    } else if (step->has_value) {
        upsert(edit, step->key, &step->value, old == NULL ? (struct bytes){NULL, 0} : old->unit);
    }
}

static bool meant(const struct attribute_step *step, struct bytes key)
{
    return (step->key.len != 0 && bytes_equal(step->key, key)) ||
           (step->pattern != NULL && regex_search(step->pattern, key, NULL, 0));
}

static void delete(struct attribute_edit *edit, const struct attribute_step *step)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < edit->count; i++)
        if (!meant(step, edit->items[i].key))
            edit->items[kept++] = edit->items[i];
    edit->changed |= kept != edit->count;
    edit->count = kept;
}

// A group that took no part gives an empty text, as in the Collector.
static void extract(struct attribute_edit *edit, const struct attribute_step *step)
{
    struct bytes groups[REGEX_MAX_GROUPS + 1];
    const struct unit_attribute *from = find(edit, step->key);
    uint32_t count = regex_group_count(step->pattern);
    if (from == NULL || from->value.kind != VALUE_STRING ||
        !regex_search(step->pattern, from->value.bytes, groups, count + 1))
        return;
    for (uint32_t i = 1; i <= count; i++) {
        struct value v = value_string(groups[i]);
        upsert(edit, bytes_from_text(regex_group_name(step->pattern, i)), &v, (struct bytes){NULL, 0});
    }
}

// --- hash ---

static void put_little_endian(uint64_t word, uint8_t out[8])
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(word >> 8 * i);
}

// The bytes the Collector hashes: text as it is, numbers as 8 bytes little-endian, true and false as one
// byte. Lists and maps, which it does not hash, as their text.
static void hash_input(const struct value *v, struct buf *out)
{
    uint8_t word[8];
    uint64_t bits;
    if (v->kind == VALUE_STRING || v->kind == VALUE_BYTES) {
        buf_add(out, v->bytes.data, v->bytes.len);
    } else if (v->kind == VALUE_BOOL) {
        buf_add_byte(out, v->boolean ? 1 : 0);
    } else if (v->kind == VALUE_INT || v->kind == VALUE_DOUBLE) {
        memcpy(&bits, v->kind == VALUE_INT ? (const void *)&v->integer : (const void *)&v->number, sizeof bits);
        put_little_endian(bits, word);
        buf_add(out, word, sizeof word);
    } else {
        value_print(out, v);
    }
}

static bool sha256_hex(struct bytes data, char hex[2 * SHA256_BYTES])
{
    uint8_t digest[SHA256_BYTES];
    if (EVP_Digest(data.data, data.len, digest, NULL, EVP_sha256(), NULL) != 1)
        return false;
    hex_encode((struct bytes){digest, sizeof digest}, hex);
    return true;
}

// Nothing to hash stays an empty text, as in the Collector.
static enum err_code hash_item(struct attribute_edit *edit, struct unit_attribute *item, struct err *e)
{
    char hex[2 * SHA256_BYTES];
    struct bytes text = {NULL, 0};
    struct buf input;
    buf_init(&input, MAX_PRINTED_BYTES);
    hash_input(&item->value, &input);
    bool ok = buf_ok(&input);
    if (ok && input.len != 0)
        ok = sha256_hex(buf_bytes(&input), hex) &&
             arena_try_copy(&edit->arena, (struct bytes){(const uint8_t *)hex, sizeof hex}, &text);
    buf_fini(&input);
    if (!ok)
        return attribute_no_memory(e);
    struct value v = value_string(text);
    set(edit, item, &v, (struct bytes){NULL, 0});
    return ERR_OK;
}

static enum err_code hash(struct attribute_edit *edit, const struct attribute_step *step, struct err *e)
{
    for (uint32_t i = 0; i < edit->count; i++) {
        enum err_code rc = meant(step, edit->items[i].key) ? hash_item(edit, &edit->items[i], e) : ERR_OK;
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

// --- convert ---

static enum err_code to_string(struct attribute_edit *edit, struct unit_attribute *item, struct err *e)
{
    if (item->value.kind == VALUE_STRING)
        return ERR_OK;
    struct buf out;
    struct bytes text = {NULL, 0};
    buf_init(&out, MAX_PRINTED_BYTES);
    value_print(&out, &item->value);
    bool ok = buf_ok(&out) && arena_try_copy(&edit->arena, buf_bytes(&out), &text);
    buf_fini(&out);
    if (!ok)
        return attribute_no_memory(e);
    struct value v = value_string(text);
    set(edit, item, &v, item->unit);
    return ERR_OK;
}

// A terminated copy of text that may be a number; false for what is too long to be one.
static bool number_text(struct bytes text, char out[MAX_NUMBER_TEXT])
{
    if (text.len == 0 || text.len >= MAX_NUMBER_TEXT || memchr(text.data, '\0', text.len) != NULL)
        return false;
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

static bool parse_double(const char *text, double *out)
{
    char *end;
    if (strchr(" \t\n\r\v\f", text[0]) != NULL || strchr(text, '(') != NULL)
        return false;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && !(errno == ERANGE && isinf(*out));
}

static void to_int(struct attribute_edit *edit, struct unit_attribute *item)
{
    char text[MAX_NUMBER_TEXT];
    const struct value *old = &item->value;
    int64_t n;
    if (old->kind == VALUE_BOOL)
        n = old->boolean ? 1 : 0;
    else if (old->kind == VALUE_DOUBLE && old->number >= -0x1p63 && old->number < 0x1p63)
        n = (int64_t)old->number;
    else if (old->kind != VALUE_STRING || !number_text(old->bytes, text) || !int64_parse(text, &n))
        return;
    struct value v = value_int(n);
    set(edit, item, &v, item->unit);
}

static void to_double(struct attribute_edit *edit, struct unit_attribute *item)
{
    char text[MAX_NUMBER_TEXT];
    const struct value *old = &item->value;
    struct value v = {.kind = VALUE_DOUBLE};
    if (old->kind == VALUE_BOOL)
        v.number = old->boolean ? 1 : 0;
    else if (old->kind == VALUE_INT)
        v.number = (double)old->integer;
    else if (old->kind != VALUE_STRING || !number_text(old->bytes, text) || !parse_double(text, &v.number))
        return;
    set(edit, item, &v, item->unit);
}

// What cannot be converted stays as it is.
static enum err_code convert(struct attribute_edit *edit, struct unit_attribute *item, enum attribute_type type,
                             struct err *e)
{
    if (item == NULL)
        return ERR_OK;
    if (type == TYPE_STRING)
        return to_string(edit, item, e);
    if (type == TYPE_INT)
        to_int(edit, item);
    else if (type == TYPE_DOUBLE)
        to_double(edit, item);
    return ERR_OK;
}

static enum err_code apply(struct attribute_edit *edit, const struct attribute_step *step, struct err *e)
{
    switch (step->action) {
    case ACTION_INSERT:
    case ACTION_UPDATE:
    case ACTION_UPSERT:
        put(edit, step);
        return ERR_OK;
    case ACTION_DELETE:
        delete (edit, step);
        return ERR_OK;
    case ACTION_HASH:
        return hash(edit, step, e);
    case ACTION_CONVERT:
        return convert(edit, find(edit, step->key), step->converted_type, e);
    case ACTION_EXTRACT:
        extract(edit, step);
        return ERR_OK;
    }
    return ERR_OK;
}

enum err_code attribute_edit_apply(struct attribute_edit *edit, const struct attribute_steps *steps, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < steps->count; i++)
        rc = apply(edit, &steps->items[i], e);
    return rc;
}

static enum err_code begin(struct attribute_edit *edit, uint32_t count, size_t room, struct err *e)
{
    *edit = (struct attribute_edit){.count = count};
    arena_init(&edit->arena, 0);
    edit->items = mem_try_array(count + room, sizeof *edit->items);
    return edit->items == NULL ? attribute_no_memory(e) : ERR_OK;
}

enum err_code attribute_edit_init(struct attribute_edit *edit, const struct unit_attribute *list, uint32_t count,
                                  size_t room, struct err *e)
{
    enum err_code rc = begin(edit, count, room, e);
    for (uint32_t i = 0; rc == ERR_OK && i < count; i++)
        edit->items[i] = list[i];
    return rc;
}

enum err_code attribute_edit_init_key_values(struct attribute_edit *edit, const struct key_value *list, uint32_t count,
                                             size_t room, struct err *e)
{
    enum err_code rc = begin(edit, count, room, e);
    for (uint32_t i = 0; rc == ERR_OK && i < count; i++)
        edit->items[i] = (struct unit_attribute){.key = list[i].key, .value = list[i].value};
    return rc;
}

const struct key_value *attribute_edit_key_values(struct attribute_edit *edit)
{
    struct key_value *list = arena_try_alloc(&edit->arena, edit->count * sizeof *list);
    for (uint32_t i = 0; list != NULL && i < edit->count; i++)
        list[i] = (struct key_value){edit->items[i].key, edit->items[i].value};
    return list;
}

void attribute_edit_fini(struct attribute_edit *edit)
{
    free(edit->items);
    edit->items = NULL;
    arena_fini(&edit->arena);
}
