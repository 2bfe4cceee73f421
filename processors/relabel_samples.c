// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "processors/relabel_work.h"
#include "profile/merge.h"

struct sample_filter {
    struct relabel_work *work;
    uint32_t resource_plus_one;     // at hand
    struct verdict_of_set {         // by attribute set
        uint32_t resource_plus_one; // whose it is; another's or 0: not yet known
        bool kept;
    } *verdicts;
    struct unit_attribute *list;
    size_t list_capacity;
    enum err_code code;
    struct err *e;
};

// One pair of a resource and a set; own is borrowed while the view is in use.
static enum err_code run_rules(struct relabel_work *w, const struct batch *b, uint32_t resource,
                               const struct unit_attribute *own, uint32_t count, struct err *e)
{
    const struct resource *r = b->resources[resource];
    enum err_code rc = relabel_view_load(&w->view, own, count, r->attributes, r->attribute_count, e);
    if (rc == ERR_OK && (w->context.scope || w->context.profile)) {
        if (w->context.resource_plus_one != resource + 1)
            rc = relabel_context_load(&w->context, b, resource, e);
        if (rc == ERR_OK)
            rc = relabel_context_add(&w->context, &w->view, e);
    }
    return rc == ERR_OK ? relabel_view_apply(&w->view, w->rules, e) : rc;
}

// --- dropping ---

static bool judge_set(struct sample_filter *f, const struct batch *b, uint32_t resource, uint32_t set)
{
    const struct dictionary *d = b->dictionary;
    f->code = attribute_set_list(d, set, &f->list, &f->list_capacity)
                  ? run_rules(f->work, b, resource, f->list, d->attribute_sets[set].count, f->e)
                  : relabel_no_memory(f->e);
    f->verdicts[set] = (struct verdict_of_set){resource + 1, f->work->view.run.kept};
    return f->verdicts[set].kept;
}

static bool keep_sample(void *arg, const struct batch *b, struct sample_position at)
{
    struct sample_filter *f = arg;
    const struct profile *p = &b->resources[at.resource]->scopes[at.scope]->profiles[at.profile];
    uint32_t set = p->columns->attribute_sets == NULL ? 0 : p->columns->attribute_sets[at.sample];
    if (f->code != ERR_OK)
        return true;
    if (f->verdicts[set].resource_plus_one == at.resource + 1)
        return f->verdicts[set].kept;
    return judge_set(f, b, at.resource, set);
}

static enum err_code drop_samples(struct relabel_work *w, struct batch *b, struct batch **out, struct err *e)
{
    size_t sets = (size_t)b->dictionary->attribute_set_count + 1;
    struct sample_filter f = {.work = w, .verdicts = mem_try_array(sets, sizeof *f.verdicts), .e = e};
    if (f.verdicts == NULL)
        return relabel_no_memory(e);
    memset(f.verdicts, 0, sets * sizeof *f.verdicts);
    enum err_code rc = batch_select(b, keep_sample, &f, out, e);
    if (rc == ERR_OK && f.code != ERR_OK) {
        rc = f.code;
        batch_unref(out);
    }
    free(f.verdicts);
    free(f.list);
    return rc;
}

// --- changing ---

struct sample_change {
    struct relabel_work *work;
    const struct batch *batch;
};

static enum err_code change_set(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                                const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    struct sample_change *c = arg;
    const struct relabel_view *v = &c->work->view;
    enum err_code rc = run_rules(c->work, c->batch, resource, list, count, e);
    bool changed = rc == ERR_OK && v->run.kept && v->changed;
    *out = changed ? v->out : list;
    *count_out = changed ? (uint32_t)v->out_count : count;
    return rc;
}

static enum err_code change_samples(struct relabel_work *w, struct batch **b, struct err *e)
{
    struct sample_change arg = {w, *b};
    const struct attribute_sets_change change = {.level = LEVEL_SAMPLE, .change = change_set, .arg = &arg};
    w->context.resource_plus_one = 0; // resources may have gone
    if (w->rules->may_drop)
        w->view.trace = NULL; // it was said
    return batch_change_attribute_sets(b, &change, e);
}

enum err_code relabel_samples(struct relabel_work *w, struct batch **batch, struct err *e)
{
    struct batch *work = NULL;
    enum err_code rc = ERR_OK;
    if (w->rules->may_drop)
        rc = drop_samples(w, *batch, &work, e);
    else
        work = batch_ref(*batch);
    if (rc == ERR_OK && work != NULL && w->rules->may_change)
        rc = change_samples(w, &work, e);
    if (rc == ERR_OK) {
        struct batch *old = *batch;
        *batch = work;
        work = old;
    }
    batch_unref(&work);
    return rc;
}
