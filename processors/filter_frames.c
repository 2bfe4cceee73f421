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

// Answers by rule and function, and by rule and mapping.
enum frame_decision { UNKNOWN, TAKEN, PASSED };

struct frame_work {
    const struct frame_rules *rules;
    uint8_t *functions, *mappings;
};

static bool takes_function(const struct frame_rule *rule, const struct dictionary *d, uint32_t id)
{
    const struct batch_function *f = &d->functions[id];
    const struct bytes name = d->strings[f->name != 0 ? f->name : f->system_name];
    return text_pattern_takes(&rule->name, name) && text_pattern_takes(&rule->file, d->strings[f->filename]);
}

static bool rule_takes(const struct frame_work *w, size_t i, const struct dictionary *d, struct batch_frame frame)
{
    const struct frame_rule *rule = &w->rules->items[i];
    uint8_t *mapping = &w->mappings[i * d->mapping_count + frame.mapping];
    uint8_t *function = &w->functions[i * d->function_count + frame.function];
    if (*mapping == UNKNOWN)
        *mapping = text_pattern_takes(&rule->mapping, d->strings[d->mappings[frame.mapping].filename]) ? TAKEN : PASSED;
    if (*mapping == PASSED)
        return false;
    if (!frame.has_line)
        return rule->name.any && rule->file.any;
    if (*function == UNKNOWN)
        *function = takes_function(rule, d, frame.function) ? TAKEN : PASSED;
    return *function == TAKEN;
}

static bool drops(void *arg, const struct dictionary *d, struct batch_frame frame)
{
    const struct frame_work *w = arg;
    for (size_t i = 0; i < w->rules->count; i++)
        if (rule_takes(w, i, d, frame))
            return true;
    return false;
}

static uint8_t *make_decisions(size_t rules, uint32_t count)
{
    uint8_t *decisions = mem_try_array(rules, count);
    if (decisions != NULL)
        memset(decisions, UNKNOWN, rules * count);
    return decisions;
}

enum err_code frame_rules_run(const struct frame_rules *r, struct batch **batch, struct err *e)
{
    const struct dictionary *d = (*batch)->dictionary;
    struct frame_work w = {r, make_decisions(r->count, d->function_count), make_decisions(r->count, d->mapping_count)};
    enum err_code rc =
        w.functions == NULL || w.mappings == NULL ? attribute_no_memory(e) : batch_drop_frames(batch, drops, &w, e);
    free(w.functions);
    free(w.mappings);
    return rc;
}
