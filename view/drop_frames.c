// SPDX-License-Identifier: Apache-2.0
#include "view/drop_frames.h"

static bool begins_with(struct bytes text, size_t at, const char *what, size_t len)
{
    return text.len - at >= len && memcmp(text.data + at, what, len) == 0;
}

// The name without a leading dot and without the list of arguments: what the expressions are made for.
static struct bytes bare_name(struct bytes name)
{
    static const struct bytes not_arguments[] = {
        {(const uint8_t *)"(anonymous namespace)", 21},
        {(const uint8_t *)"operator()", 10},
    };
    if (name.len > 0 && name.data[0] == '.') {
        name.data++;
        name.len--;
    }
    for (size_t i = 0; i < name.len; i++) {
        for (size_t k = 0; k < COUNT_OF(not_arguments); k++) {
            if (begins_with(name, i, (const char *)not_arguments[k].data, not_arguments[k].len))
                i += not_arguments[k].len;
        }
        if (i < name.len && name.data[i] == '(') {
            name.len = i;
            break;
        }
    }
    return name;
}

static struct bytes text_attribute(const struct dictionary *d, uint32_t set, const char *key)
{
    const struct batch_range range = d->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        if (a->value.kind == VALUE_STRING && bytes_equal_text(d->strings[a->key], key))
            return a->value.bytes;
    }
    return (struct bytes){0};
}

static bool compile(struct bytes text, struct regex **out, struct err *e)
{
    regex_destroy(out);
    return text.len == 0 || regex_compile(text, out, e) != ERR_MEMORY;
}

static struct bytes drop_text(const struct dictionary *d, const struct profile *p)
{
    return text_attribute(d, p->attribute_set, "pprof.profile.drop_frames");
}

static struct bytes keep_text(const struct dictionary *d, const struct profile *p)
{
    return text_attribute(d, p->attribute_set, "pprof.profile.keep_frames");
}

bool drop_frames_fit(const struct drop_frames *r, const struct dictionary *d, const struct profile *p)
{
    return bytes_equal(drop_text(d, p), r->drop_text) && bytes_equal(keep_text(d, p), r->keep_text);
}

bool drop_frames_set(struct drop_frames *r, const struct dictionary *d, const struct profile *p, struct err *e)
{
    r->drop_text = drop_text(d, p);
    r->keep_text = keep_text(d, p);
    if (!compile(r->drop_text, &r->drop, e) || !compile(r->keep_text, &r->keep, e))
        return false;
    if (r->keep_text.len > 0 && r->keep == NULL)
        regex_destroy(&r->drop); // what is to be kept is not known
    return true;
}

uint32_t drop_frames_cut(const struct drop_frames *r, const struct dictionary *d, const struct batch_location *l)
{
    if (r->drop == NULL)
        return 0;
    for (uint32_t i = l->line_count; i-- > 0;) {
        const struct bytes name = d->strings[d->functions[d->lines[l->line_start + i].function].name];
        if (name.len == 0)
            continue;
        const struct bytes bare = bare_name(name);
        if (regex_match(r->drop, bare, NULL, 0) && (r->keep == NULL || !regex_match(r->keep, bare, NULL, 0)))
            return i + 1;
    }
    return 0;
}
