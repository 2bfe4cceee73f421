// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_trace.h"

#include <stdio.h>

enum { LABELS_BYTES = 6 << 10, ID_BYTES = 160 }; // two of them and the rest fit a line of the log
static const char CUT[] = ", ...}";

static void add_label(struct buf *out, const struct label *l)
{
    buf_add_format(out, "%s%.*s=\"%.*s\"", out->len > 1 ? ", " : "", BYTES_PRINT(l->name), BYTES_PRINT(l->value));
}

// Cut where it grows too long.
static void print_labels(const struct label_list *labels, struct buf *out)
{
    buf_init(out, LABELS_BYTES);
    buf_add_text(out, "{");
    for (size_t i = 0; i < labels->count; i++)
        if (labels->items[i].value.len != 0)
            add_label(out, &labels->items[i]);
    if (!out->too_large) {
        buf_add_text(out, "}");
        return;
    }
    out->max_bytes += sizeof CUT;
    out->failed = out->too_large = false;
    buf_add_text(out, CUT);
}

void relabel_trace_begin(struct relabel_trace *t, const struct logger *log, const struct relabel_run *run)
{
    if (log != NULL)
        print_labels(&run->labels, &t->before);
}

static void write_line(const struct logger *log, const char *action, struct bytes before, const char *outcome,
                       struct bytes after)
{
    log_info(log, "%s: %.*s %s%.*s", action, (int)before.len, (const char *)before.data, outcome, (int)after.len,
             after.len == 0 ? "" : (const char *)after.data);
}

void relabel_trace_end(struct relabel_trace *t, const struct logger *log, size_t index, const struct relabel_rule *rule,
                       const struct relabel_run *run)
{
    if (log == NULL)
        return;
    char id[ID_BYTES];
    struct buf after;
    const struct bytes none = {NULL, 0};
    const struct logger named = {log->sink, log->kind, id};
    const char *action = relabel_action_names[rule->text.action];
    snprintf(id, sizeof id, "%s: rules[%zu]", log->id, index);
    print_labels(&run->labels, &after);
    if (!buf_ok(&t->before) || !buf_ok(&after))
        log_info(&named, "%s: no memory to show the labels", action);
    else if (!run->kept)
        write_line(&named, action, buf_bytes(&t->before), "dropped", none);
    else if (bytes_equal(buf_bytes(&t->before), buf_bytes(&after)))
        write_line(&named, action, buf_bytes(&t->before), "unchanged", none);
    else
        write_line(&named, action, buf_bytes(&t->before), "-> ", buf_bytes(&after));
    buf_fini(&t->before);
    buf_fini(&after);
}
