// SPDX-License-Identifier: Apache-2.0
#include "processors/filter_frames.h"

#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/text_pattern.h"
#include "profile/frames.h"

enum { MAX_RULES = 256 };

struct rule_settings {
    const char *name, *file, *mapping;
};

#define RULE(member) offsetof(struct rule_settings, member)

static const struct field rule_fields[] = {
    {.name = "name",
     .type = FIELD_STRING,
     .offset = RULE(name),
     .help = "of the function; its system name if it has none"},
    {.name = "file", .type = FIELD_STRING, .offset = RULE(file), .help = "the function's source file"},
    {.name = "mapping", .type = FIELD_STRING, .offset = RULE(mapping), .help = "file of the binary or library"},
    {.name = NULL},
};

const struct field frame_fields[] = {
    {.name = "match_type",
     .type = FIELD_ENUM,
     .offset = offsetof(struct frame_settings, match_type),
     .default_text = "regexp",
     .names = text_pattern_types,
     .help = "strict: equal; regexp: an expression (RE2) is found in it"},
    {.name = "drop",
     .type = FIELD_STRUCT_LIST,
     .offset = offsetof(struct frame_settings, drop),
     .fields = rule_fields,
     .struct_size = sizeof(struct rule_settings),
     .help = "a frame goes out of its stacks if all of one entry matches"},
    {.name = NULL},
};

struct frame_rule {
    struct text_pattern name, file, mapping;
};

struct frame_rules {
    size_t count;
    struct frame_rule items[];
};

// --- settings ---

static enum err_code make_rule(int type, const struct rule_settings *s, struct frame_rule *out, struct err *e)
{
    if (s->name == NULL && s->file == NULL && s->mapping == NULL)
        return err_set(e, ERR_INVALID, "needs name, file or mapping");
    enum err_code rc = text_pattern_init(type, s->name, &out->name, e);
    if (rc == ERR_OK)
        rc = text_pattern_init(type, s->file, &out->file, e);
    return rc == ERR_OK ? text_pattern_init(type, s->mapping, &out->mapping, e) : rc;
}

enum err_code frame_rules_create(const struct frame_settings *s, struct frame_rules **out, struct err *e)
{
    *out = NULL;
    const struct rule_settings *items = s->drop.items;
    if (s->drop.count == 0)
        return ERR_OK;
    if (s->drop.count > MAX_RULES)
        return err_set(e, ERR_LIMIT, "has %zu entries, at most %d are allowed: join expressions with |", s->drop.count,
                       MAX_RULES);
    struct frame_rules *r = mem_alloc(sizeof *r + s->drop.count * sizeof r->items[0]);
    enum err_code rc = ERR_OK;
    while (rc == ERR_OK && r->count < s->drop.count) {
        rc = make_rule(s->match_type, &items[r->count], &r->items[r->count], e);
        r->count++; // it may be half made
    }
    if (rc != ERR_OK) {
        err_prefix(e, "[%zu]", r->count - 1);
        frame_rules_destroy(&r);
    }
    *out = r;
    return rc;
}

void frame_rules_destroy(struct frame_rules **r)
{
    struct frame_rules *old = *r;
    *r = NULL;
    for (size_t i = 0; old != NULL && i < old->count; i++) {
        text_pattern_fini(&old->items[i].name);
        text_pattern_fini(&old->items[i].file);
        text_pattern_fini(&old->items[i].mapping);
    }
    free(old);
}

// --- work ---

// Answers by rule and text, two bits for each use of it: many functions may have the same long name.
enum answer { UNKNOWN = 0, TAKEN = 1, PASSED = 2, ANSWER_BITS = 3 };
enum text_use { USE_NAME = 0, USE_FILE = 2, USE_MAPPING = 4 }; // shifts

struct frame_work {
    const struct frame_rules *rules;
    uint8_t *answers;
};

static bool takes_text(const struct text_pattern *pattern, const struct dictionary *d, uint32_t id, enum text_use use,
                       uint8_t *answers)
{
    if (pattern->any)
        return true;
    if ((answers[id] >> use & ANSWER_BITS) == UNKNOWN)
        answers[id] |= (uint8_t)((text_pattern_takes(pattern, d->strings[id]) ? TAKEN : PASSED) << use);
    return (answers[id] >> use & ANSWER_BITS) == TAKEN;
}

static bool rule_takes(const struct frame_work *w, size_t i, const struct dictionary *d, struct batch_frame frame)
{
    const struct frame_rule *rule = &w->rules->items[i];
    const struct batch_function *f = &d->functions[frame.function];
    uint8_t *answers = w->answers + i * d->string_count;
    if (!takes_text(&rule->mapping, d, d->mappings[frame.mapping].filename, USE_MAPPING, answers))
        return false;
    if (!frame.has_line)
        return rule->name.any && rule->file.any;
    return takes_text(&rule->name, d, f->name != 0 ? f->name : f->system_name, USE_NAME, answers) &&
           takes_text(&rule->file, d, f->filename, USE_FILE, answers);
}

static bool drops(void *arg, const struct dictionary *d, struct batch_frame frame)
{
    const struct frame_work *w = arg;
    for (size_t i = 0; i < w->rules->count; i++)
        if (rule_takes(w, i, d, frame))
            return true;
    return false;
}

enum err_code frame_rules_run(const struct frame_rules *r, struct batch **batch, struct err *e)
{
    const struct dictionary *d = (*batch)->dictionary;
    struct frame_work w = {r, mem_try_array(r->count, d->string_count)};
    if (w.answers == NULL)
        return attribute_no_memory(e);
    memset(w.answers, UNKNOWN, r->count * d->string_count);
    enum err_code rc = batch_drop_frames(batch, drops, &w, e);
    free(w.answers);
    return rc;
}
