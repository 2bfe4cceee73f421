// SPDX-License-Identifier: Apache-2.0
// Prometheus' relabelling on profiles: relabel_rules.c is the rules, relabel_view.c how attributes are labels,
// relabel_resources.c and relabel_samples.c what they are of.
#include "base/mem.h"
#include "processors/processors.h"
#include "processors/relabel_names.h"
#include "processors/relabel_settings.h"
#include "processors/relabel_work.h"

struct relabel {
    struct processor processor;
    struct arena arena; // of the rules
    struct relabel_rules rules;
    enum relabel_level level;
    bool scope, profile, trace;
    struct relabel_cache *cache;        // NULL = none
    struct relabel_work *_Atomic spare; // from the batch before, so that small ones allocate little
};

// A rule may name an attribute as it is; it is about the label then, and a label it makes is that attribute.
static struct bytes name_as_label(struct relabel *p, struct bytes name)
{
    struct bytes label;
    CHECK(label_name(&p->arena, name, &label));
    return label;
}

static void names_as_labels(struct relabel *p, struct relabel_rule_text *text)
{
    struct bytes *sources = arena_alloc(&p->arena, text->source_count * sizeof *sources);
    for (size_t i = 0; i < text->source_count; i++)
        sources[i] = name_as_label(p, text->source_labels[i]);
    text->source_labels = sources;
    if (text->target_label.len == 0 || memchr(text->target_label.data, '$', text->target_label.len) != NULL)
        return;
    struct bytes label = name_as_label(p, text->target_label);
    if (label.data != text->target_label.data)
        p->rules.dotted_names[p->rules.dotted_count++] = text->target_label;
    text->target_label = label;
}

static void note_abilities(struct relabel_rules *rules, enum relabel_action action)
{
    bool drops =
        action == RELABEL_KEEP || action == RELABEL_DROP || action == RELABEL_KEEPEQUAL || action == RELABEL_DROPEQUAL;
    rules->may_drop |= drops;
    rules->may_change |= !drops;
}

static enum err_code create_rules(struct relabel *p, const struct relabel_settings *s, struct err *e)
{
    size_t count = relabel_settings_rule_count(s);
    enum err_code rc = ERR_OK;
    p->rules.items = arena_alloc(&p->arena, count * sizeof *p->rules.items);
    p->rules.dotted_names = arena_alloc(&p->arena, count * sizeof *p->rules.dotted_names);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        const char *key;
        struct relabel_rule_text text = relabel_settings_rule(&p->arena, s, i);
        names_as_labels(p, &text);
        note_abilities(&p->rules, text.action);
        rc = relabel_rule_compile(&p->arena, &text, &p->rules.items[i], &key, e);
        p->rules.count = i + 1;
    }
    return rc;
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct relabel *p = (struct relabel *)self;
    const struct relabel_settings *s = settings;
    arena_init(&p->arena, 0);
    p->level = (enum relabel_level)s->level;
    p->scope = relabel_settings_includes(s, "scope");
    p->profile = relabel_settings_includes(s, "profile");
    p->trace = s->trace;
    self->takes_unread = p->level == RELABEL_RESOURCE && !p->profile && !p->trace;
    if (p->level == RELABEL_RESOURCE && !p->scope && !p->profile && !p->trace) {
        p->cache = MEM_NEW(struct relabel_cache);
        relabel_cache_init(p->cache);
    }
    return create_rules(p, s, e);
}

static struct relabel_work *take_work(struct relabel *p)
{
    struct relabel_work *w = atomic_exchange(&p->spare, NULL);
    if (w == NULL) {
        w = MEM_NEW(struct relabel_work);
        relabel_work_init(w, &p->rules, p->scope, p->profile);
        w->cache = p->cache;
    }
    return w;
}

static void destroy_work(struct relabel_work *w)
{
    if (w != NULL)
        relabel_work_fini(w);
    free(w);
}

static void give_back_work(struct relabel *p, struct relabel_work *w)
{
    relabel_context_fini(&w->context);
    relabel_context_init(&w->context, p->scope, p->profile);
    if (relabel_work_is_large(w))
        destroy_work(w);
    else
        destroy_work(atomic_exchange(&p->spare, w));
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    struct relabel *p = (struct relabel *)self;
    struct relabel_work *w = take_work(p);
    w->view.trace = p->trace ? &self->component.log : NULL;
    enum err_code rc = p->level == RELABEL_SAMPLE ? relabel_samples(w, batch, e) : relabel_resources(w, batch, e);
    give_back_work(p, w);
    return rc;
}

static void destroy(struct processor *self)
{
    struct relabel *p = (struct relabel *)self;
    destroy_work(atomic_load(&p->spare));
    if (p->cache != NULL)
        relabel_cache_fini(p->cache);
    free(p->cache);
    for (size_t i = 0; i < p->rules.count; i++)
        relabel_rule_fini(&p->rules.items[i]);
    arena_fini(&p->arena);
}

const struct processor_module relabel_processor = {
    .module =
        {
            .type = "relabel",
            .help = "Prometheus' relabelling, with attributes as labels.",
            .settings_size = sizeof(struct relabel_settings),
            .instance_size = sizeof(struct relabel),
            .fields = relabel_fields,
            .check = relabel_check_settings,
        },
    .create = create,
    .process = process,
    .destroy = destroy,
};
