// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

struct series {
    struct metric metric;
    char *labels;            // as on the page, without braces: the key in its family
    int64_t (*read)(void *); // NULL = metric holds the value
    void *arg;
    bool hidden;
};

// Pointers in the order of their keys.
struct sorted {
    void **items;
    size_t count, capacity;
    const char *(*key_of)(const void *item);
};

struct family {
    const struct metric_family *descriptor;
    struct sorted series;
};

struct metrics {
    pthread_mutex_t lock; // all below, and the series' read, arg and hidden
    struct sorted families;
};

static const char *family_name(const void *item)
{
    const struct family *f = item;
    return f->descriptor->name;
}

static const char *series_labels(const void *item)
{
    const struct series *s = item;
    return s->labels;
}

// The place of key, or where it would have to be put in.
static size_t sorted_find(const struct sorted *s, const char *key, bool *found_out)
{
    size_t low = 0, high = s->count;
    *found_out = false;
    while (low < high && !*found_out) {
        size_t middle = (low + high) / 2;
        int order = strcmp(s->key_of(s->items[middle]), key);
        *found_out = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

static void sorted_insert(struct sorted *s, size_t at, void *item)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity * 2 + 4;
        void **grown = mem_alloc(s->capacity * sizeof *grown);
        if (s->count != 0)
            memcpy(grown, s->items, s->count * sizeof *grown);
        free(s->items);
        s->items = grown;
    }
    memmove(s->items + at + 1, s->items + at, (s->count - at) * sizeof *s->items);
    s->items[at] = item;
    s->count++;
}

struct metrics *metrics_create(void)
{
    struct metrics *m = MEM_NEW(struct metrics);
    m->families.key_of = family_name;
    CHECK(pthread_mutex_init(&m->lock, NULL) == 0);
    return m;
}

static void family_destroy(struct family *f)
{
    for (size_t i = 0; i < f->series.count; i++) {
        struct series *s = f->series.items[i];
        free(s->labels);
        free(s);
    }
    free(f->series.items);
    free(f);
}

void metrics_destroy(struct metrics **m)
{
    if (*m == NULL)
        return;
    for (size_t i = 0; i < (*m)->families.count; i++)
        family_destroy((*m)->families.items[i]);
    free((*m)->families.items);
    pthread_mutex_destroy(&(*m)->lock);
    free(*m);
    *m = NULL;
}

static bool name_valid(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");
    return n > 0 && name[n] == '\0' && !(name[0] >= '0' && name[0] <= '9');
}

static struct family *family_get(struct metrics *m, const struct metric_family *descriptor)
{
    bool found;
    size_t at = sorted_find(&m->families, descriptor->name, &found);
    if (found) {
        struct family *f = m->families.items[at];
        CHECK(f->descriptor->type == descriptor->type);
        return f;
    }
    CHECK(name_valid(descriptor->name));
    struct family *f = MEM_NEW(struct family);
    *f = (struct family){.descriptor = descriptor, .series.key_of = series_labels};
    sorted_insert(&m->families, at, f);
    return f;
}

// Takes labels.
static struct series *series_get(struct family *f, char *labels)
{
    bool found;
    size_t at = sorted_find(&f->series, labels, &found);
    if (found) {
        free(labels);
        return f->series.items[at];
    }
    struct series *s = MEM_NEW(struct series);
    s->labels = labels;
    sorted_insert(&f->series, at, s);
    return s;
}

// Names may come from a configuration: what the format does not know becomes _.
static char name_char(const char *name, size_t i)
{
    char c = name[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c == '\0' || letter || (i > 0 && c >= '0' && c <= '9') ? c : '_';
}

static int name_order(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] != '\0' && name_char(a, i) == name_char(b, i))
        i++;
    return name_char(a, i) - name_char(b, i);
}

static char *write_value(char *at, struct bytes value)
{
    while (value.len > 0) {
        size_t n = utf8_char_len(value);
        char c = (char)value.data[0];
        if (c == '\\' || c == '"' || c == '\n') {
            *at++ = '\\';
            *at++ = c == '\n' ? 'n' : c;
        } else {
            at += utf8_repair((struct bytes){value.data, n == 0 ? 1 : n}, (uint8_t *)at);
        }
        value.data += n == 0 ? 1 : n;
        value.len -= n == 0 ? 1 : n;
    }
    return at;
}

static char *write_label(char *at, const struct metric_label *label)
{
    for (size_t i = 0; label->name[i] != '\0'; i++)
        *at++ = name_char(label->name, i);
    *at++ = '=';
    *at++ = '"';
    at = write_value(at, bytes_from_text(label->value));
    *at++ = '"';
    return at;
}

// The least name greater than `after` (NULL = any): labels come out sorted, one of each name.
static const struct metric_label *next_label(const struct metric_label *labels, size_t count, const char *after)
{
    const struct metric_label *best = NULL;
    for (size_t i = 0; i < count; i++)
        if ((after == NULL || name_order(labels[i].name, after) > 0) &&
            (best == NULL || name_order(labels[i].name, best->name) < 0))
            best = &labels[i];
    return best;
}

static char *render_labels(const struct metric_label *labels, size_t count)
{
    enum { AROUND = 4, REPAIRED = 3 }; // ="", and what one broken byte becomes
    size_t room = 1;
    for (size_t i = 0; i < count; i++)
        room += strlen(labels[i].name) + REPAIRED * strlen(labels[i].value) + AROUND;
    char *text = mem_alloc(room), *at = text;
    const struct metric_label *l = next_label(labels, count, NULL);
    while (l != NULL) {
        CHECK(l->name[0] != '\0');
        at = write_label(at, l);
        l = next_label(labels, count, l->name);
        if (l != NULL)
            *at++ = ',';
    }
    *at = '\0';
    char *fitted = mem_copy_text(text);
    free(text);
    return fitted;
}

static struct series *find_locked(struct metrics *m, const struct metric_family *family,
                                  const struct metric_label *labels, size_t label_count)
{
    char *rendered = render_labels(labels, label_count);
    pthread_mutex_lock(&m->lock);
    return series_get(family_get(m, family), rendered);
}

struct metric *metrics_series(struct metrics *m, const struct metric_family *family, const struct metric_label *labels,
                              size_t label_count)
{
    struct series *s = find_locked(m, family, labels, label_count);
    s->hidden = false;
    pthread_mutex_unlock(&m->lock);
    return &s->metric;
}

void metrics_series_read(struct metrics *m, const struct metric_family *family, const struct metric_label *labels,
                         size_t label_count, int64_t (*read)(void *), void *arg)
{
    struct series *s = find_locked(m, family, labels, label_count);
    s->read = read;
    s->arg = arg;
    s->hidden = read == NULL;
    pthread_mutex_unlock(&m->lock);
}

static void write_help(struct buf *page, const char *help)
{
    for (; *help != '\0'; help++) {
        if (*help == '\\')
            buf_add_text(page, "\\\\");
        else if (*help == '\n')
            buf_add_text(page, "\\n");
        else
            buf_add_byte(page, (uint8_t)*help);
    }
}

static void write_head(struct buf *page, const struct metric_family *f)
{
    buf_add_format(page, "# HELP %s ", f->name);
    write_help(page, f->help);
    buf_add_format(page, "\n# TYPE %s %s\n", f->name, f->type == METRIC_COUNTER ? "counter" : "gauge");
}

static void write_series(struct buf *page, const char *name, const struct series *s)
{
    int64_t value = s->read != NULL ? s->read(s->arg) : metric_get(&s->metric);
    bool labelled = s->labels[0] != '\0';
    buf_add_text(page, name);
    buf_add_text(page, labelled ? "{" : "");
    buf_add_text(page, s->labels);
    buf_add_text(page, labelled ? "}" : "");
    buf_add_format(page, " %" PRId64 "\n", value);
}

static void write_family(struct buf *page, const struct family *f)
{
    bool head = false;
    for (size_t i = 0; i < f->series.count; i++) {
        const struct series *s = f->series.items[i];
        if (s->hidden)
            continue;
        if (!head)
            write_head(page, f->descriptor);
        head = true;
        write_series(page, f->descriptor->name, s);
    }
}

void metrics_write(struct metrics *m, struct buf *page)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->families.count; i++)
        write_family(page, m->families.items[i]);
    pthread_mutex_unlock(&m->lock);
}
