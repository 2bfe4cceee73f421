// SPDX-License-Identifier: Apache-2.0
#include "receivers/otlp_layouts.h"

#include "base/hash.h"
#include "base/mem.h"

const char *const otlp_on_old_names[] = {[OTLP_TRANSLATE_OLD] = "translate", [OTLP_REJECT_OLD] = "reject", NULL};

void otlp_layout_settings_check(const struct otlp_layout_settings *s, const struct component_check *check)
{
    enum otlp_layout layout;
    for (size_t i = 0; i < s->accept.count; i++)
        if (!otlp_layout_from_name(s->accept.items[i], &layout) || layout == OTLP_LAYOUT_AUTO)
            check_error(check, "layouts.accept",
                        "\"%s\" is no layout: there are current (1.10 and newer), 1.9, 1.8, "
                        "1.7 and 1.5",
                        s->accept.items[i]);
    if (s->on_old == OTLP_REJECT_OLD && otlp_layout_rules_of(s).refused[OTLP_LAYOUT_CURRENT])
        check_error(check, "layouts.on_old", "reject leaves nothing of what layouts.accept names: add current to it");
}

struct otlp_layout_rules otlp_layout_rules_of(const struct otlp_layout_settings *s)
{
    struct otlp_layout_rules rules = {.hints.assumed = (enum otlp_layout)s->assume};
    enum otlp_layout layout;
    for (size_t i = 0; i < OTLP_LAYOUTS; i++)
        rules.refused[i] = s->accept.count > 0;
    for (size_t i = 0; i < s->accept.count; i++)
        if (otlp_layout_from_name(s->accept.items[i], &layout))
            rules.refused[layout] = false;
    for (size_t i = 0; i < OTLP_LAYOUT_CURRENT; i++)
        rules.refused[i] = rules.refused[i] || s->on_old == OTLP_REJECT_OLD;
    return rules;
}

// --- senders ---

// Those that have sent old layouts. Of addresses that fall into one group the last ones are known: other lines in the log
// are all that costs.
enum { GROUPS = 128, GROUP = 8 };

struct sender {
    uint64_t hash; // of the address
    enum otlp_layout layout;
};

struct otlp_senders {
    const struct component *component;
    struct metric *requests[OTLP_LAYOUTS];
    struct sender groups[GROUPS][GROUP];
};

static const struct metric_family requests_family = {
    "profrelay_receiver_layout_requests", "Requests that were taken, by the layout of OTLP profiles.", METRIC_COUNTER};

struct otlp_senders *otlp_senders_create(const struct component *c)
{
    struct otlp_senders *s = MEM_NEW(struct otlp_senders);
    s->component = c;
    for (size_t i = OTLP_LAYOUT_AUTO + 1; i < OTLP_LAYOUTS; i++) {
        const struct metric_label labels[] = {{"receiver", c->id}, {"layout", otlp_layout_names[i]}};
        s->requests[i] = metrics_series(c->env->metrics, &requests_family, labels, COUNT_OF(labels));
    }
    return s;
}

void otlp_senders_destroy(struct otlp_senders **s)
{
    free(*s);
    *s = NULL;
}

// The layout that it sent before; current of one that is not known.
static enum otlp_layout replace_layout(struct otlp_senders *s, const char *address, enum otlp_layout layout)
{
    const uint64_t hash = hash_bytes((const uint8_t *)address, strlen(address));
    struct sender *group = s->groups[hash % GROUPS];
    for (size_t i = 0; i < GROUP; i++) {
        if (group[i].hash != hash || group[i].layout == OTLP_LAYOUT_AUTO)
            continue;
        enum otlp_layout before = group[i].layout;
        group[i].layout = layout;
        return before;
    }
    if (layout == OTLP_LAYOUT_CURRENT)
        return OTLP_LAYOUT_CURRENT;
    memmove(group + 1, group, (GROUP - 1) * sizeof *group);
    group[0] = (struct sender){hash, layout};
    return OTLP_LAYOUT_CURRENT;
}

void otlp_senders_note(struct otlp_senders *s, const char *address, const struct otlp_layout_finding *found)
{
    if (found->layout == OTLP_LAYOUT_AUTO)
        return;
    metric_add(s->requests[found->layout], 1);
    const enum otlp_layout before = replace_layout(s, address, found->layout);
    if (found->layout == before)
        return;
    if (found->layout == OTLP_LAYOUT_CURRENT)
        log_info(&s->component->log, "%s sends the current layout of OTLP profiles now, no longer %s", address,
                 otlp_layout_names[before]);
    else
        log_info(&s->component->log, "%s sends the layout %s of OTLP profiles (%s): it is translated", address,
                 otlp_layout_names[found->layout], found->evidence);
}
