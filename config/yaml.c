// SPDX-License-Identifier: Apache-2.0
// libyaml's events to a tree. What ends the reading (syntax, limits) returns NULL all the way up; other
// errors are noted and the reading goes on.
#include "base/limits.h"
#include "base/mem.h"
#include "config/internal.h"

#include <yaml.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

struct anchor {
    const char *name;
    const struct config_node *node;
    struct anchor *older;
};

struct reader {
    yaml_parser_t parser;
    const struct yaml_request *request;
    struct anchor *anchors;
    bool clean;
};

// An entry of a map being read; merged ones came in through "<<".
struct candidate {
    struct config_entry entry;
    size_t rank;
    bool merged, dropped;
};

struct candidates {
    struct candidate *items;
    size_t count, capacity;
};

static struct config_node *read_node(struct reader *r, yaml_event_t *event, int depth);

static struct config_position position_of(const struct reader *r, yaml_mark_t mark)
{
    if (r->request->fixed_at.source)
        return r->request->fixed_at;
    return (struct config_position){r->request->source, (int)mark.line + 1, (int)mark.column + 1};
}

// Sets r->clean = false and adds the message.
#define COMPLAIN(r, at, ...) ((r)->clean = false, config_error((r)->request->errors, (at), __VA_ARGS__))

// True if the first thing in the line that is no space is a tab.
static bool indented_with_tab(struct bytes text, size_t line)
{
    const uint8_t *p = text.data, *end = text.data + text.len;
    for (; line > 0 && p; line--) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    while (p && p < end && *p == ' ')
        p++;
    return p && p < end && *p == '\t';
}

static void complain_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    struct config_position at = position_of(r, p->problem_mark);
    const char *problem = p->problem ? p->problem : "out of memory";
    if (p->error == YAML_READER_ERROR)
        COMPLAIN(r, ((struct config_position){.source = at.source}), "not YAML: %s at byte %zu", problem,
                 p->problem_offset);
    else if (indented_with_tab(r->request->text, p->problem_mark.line))
        COMPLAIN(r, at, "not YAML: the line is indented with a tab; use spaces");
    else if (p->context)
        COMPLAIN(r, at, "not YAML: %s, %s that begins in line %zu", problem, p->context, p->context_mark.line + 1);
    else
        COMPLAIN(r, at, "not YAML: %s", problem);
}

static bool next_event(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return true;
    complain_syntax(r);
    return false;
}

static struct config_node *new_node(struct reader *r, struct config_position at, enum config_kind kind, int depth)
{
    if (depth > LIMIT_CONFIG_DEPTH) {
        COMPLAIN(r, at, "nested more than %d levels deep", LIMIT_CONFIG_DEPTH);
        return NULL;
    }
    if (*r->request->nodes_left == 0) {
        COMPLAIN(r, at, "more than %d values, each use of an alias counted", LIMIT_CONFIG_NODES);
        return NULL;
    }
    --*r->request->nodes_left;
    struct config_node *node = arena_alloc(r->request->arena, sizeof *node);
    node->kind = kind;
    node->at = at;
    return node;
}

static struct config_node *copy_node(struct reader *r, const struct config_node *from, int depth)
{
    struct config_node *node = new_node(r, from->at, from->kind, depth);
    if (!node)
        return NULL;
    *node = *from;
    if (from->kind == CONFIG_LIST)
        node->items = arena_alloc(r->request->arena, from->count * sizeof *node->items);
    if (from->kind == CONFIG_MAP)
        node->entries = arena_alloc(r->request->arena, from->count * sizeof *node->entries);
    for (size_t i = 0; i < from->count; i++) {
        const struct config_node *child = from->kind == CONFIG_LIST ? from->items[i] : from->entries[i].value;
        struct config_node *copy = copy_node(r, child, depth + 1);
        if (!copy)
            return NULL;
        if (from->kind == CONFIG_LIST)
            node->items[i] = copy;
        else
            node->entries[i] = (struct config_entry){from->entries[i].key, from->entries[i].key_at, copy};
    }
    return node;
}

static struct config_node *read_alias(struct reader *r, const yaml_event_t *event, int depth)
{
    const char *name = (const char *)event->data.alias.anchor;
    for (const struct anchor *a = r->anchors; a; a = a->older)
        if (strcmp(a->name, name) == 0)
            return copy_node(r, a->node, depth);
    COMPLAIN(r, position_of(r, event->start_mark), "the alias *%s has no anchor &%s before it", name, name);
    return new_node(r, position_of(r, event->start_mark), CONFIG_NULL, depth);
}

static void remember_anchor(struct reader *r, const yaml_char_t *name, const struct config_node *node)
{
    if (!name)
        return;
    struct anchor *a = arena_alloc(r->request->arena, sizeof *a);
    *a = (struct anchor){arena_copy_text(r->request->arena, (const char *)name, strlen((const char *)name)), node,
                         r->anchors};
    r->anchors = a;
}

static void check_tag(struct reader *r, const yaml_char_t *tag, yaml_mark_t mark, const char *const *known)
{
    const char *text = (const char *)tag;
    if (!text || strcmp(text, "!") == 0)
        return;
    for (; *known; known++)
        if (strcmp(text, *known) == 0)
            return;
    COMPLAIN(r, position_of(r, mark), "the tag \"%s\" is not known here, remove it", text);
}

static struct config_node *read_scalar(struct reader *r, const yaml_event_t *event, int depth)
{
    static const char *const tags[] = {TAG_PREFIX "str",   TAG_PREFIX "int",  TAG_PREFIX "bool",
                                       TAG_PREFIX "float", TAG_PREFIX "null", NULL};
    const char *text = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag;
    struct config_node *node = new_node(r, position_of(r, event->start_mark), CONFIG_SCALAR, depth);
    if (!node)
        return NULL;
    check_tag(r, event->data.scalar.tag, event->start_mark, tags);
    if (strlen(text) != event->data.scalar.length)
        COMPLAIN(r, node->at, "the text holds a NUL character");
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (tag)
        node->quoted = strcmp(tag, "!") == 0 || strcmp(tag, tags[0]) == 0;
    if (!node->quoted && config_scalar_is_null(text))
        node->kind = CONFIG_NULL;
    else
        node->text = arena_copy_text(r->request->arena, text, strlen(text));
    return node;
}

static bool grow_items(struct config_node ***items, size_t *capacity, size_t need)
{
    void *grown = *items;
    bool ok = mem_try_grow(&grown, capacity, need, sizeof **items, LIMIT_CONFIG_NODES);
    *items = grown;
    return ok;
}

// Reads to the end of the list into *items; false when reading must end.
static bool read_items(struct reader *r, struct config_node ***items, size_t *count, int depth)
{
    yaml_event_t event;
    for (size_t capacity = 0; next_event(r, &event); ++*count) {
        bool end = event.type == YAML_SEQUENCE_END_EVENT;
        struct config_node *item = end ? NULL : read_node(r, &event, depth + 1);
        yaml_event_delete(&event);
        if (end)
            return true;
        if (!item || !grow_items(items, &capacity, *count + 1))
            return false;
        (*items)[*count] = item;
    }
    return false;
}

static struct config_node *read_list(struct reader *r, const yaml_event_t *event, int depth)
{
    static const char *const tags[] = {TAG_PREFIX "seq", NULL};
    struct config_node *node = new_node(r, position_of(r, event->start_mark), CONFIG_LIST, depth);
    struct config_node **items = NULL;
    if (!node)
        return NULL;
    check_tag(r, event->data.sequence_start.tag, event->start_mark, tags);
    bool ok = read_items(r, &items, &node->count, depth);
    if (ok && items) {
        node->items = arena_alloc(r->request->arena, node->count * sizeof *items);
        memcpy(node->items, items, node->count * sizeof *items);
    }
    free(items);
    return ok ? node : NULL;
}

static bool add_candidate(struct candidates *c, struct config_entry entry, bool merged)
{
    void *items = c->items;
    bool ok = mem_try_grow(&items, &c->capacity, c->count + 1, sizeof *c->items, 2 * (size_t)LIMIT_CONFIG_NODES);
    c->items = items;
    if (ok) {
        c->items[c->count] = (struct candidate){entry, c->count, merged, false};
        c->count++;
    }
    return ok;
}

// The key of the event; NULL when it is none, which ends the reading.
static const char *read_key(struct reader *r, const yaml_event_t *event, bool *merge_out)
{
    struct config_position at = position_of(r, event->start_mark);
    if (event->type != YAML_SCALAR_EVENT) {
        COMPLAIN(r, at, "a key must be text");
        return NULL;
    }
    const char *text = (const char *)event->data.scalar.value;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (strlen(text) != event->data.scalar.length)
        COMPLAIN(r, at, "the key holds a NUL character");
    if (plain && *text == '\0')
        COMPLAIN(r, at, "a key is missing before the colon");
    *merge_out = plain && strcmp(text, "<<") == 0;
    return arena_copy_text(r->request->arena, text, strlen(text));
}

static bool read_entries(struct reader *r, struct candidates *entries, struct candidates *merges, int depth)
{
    yaml_event_t event;
    while (next_event(r, &event)) {
        bool end = event.type == YAML_MAPPING_END_EVENT, merge = false;
        struct config_entry entry = {.key_at = position_of(r, event.start_mark)};
        entry.key = end ? NULL : read_key(r, &event, &merge);
        yaml_event_delete(&event);
        if (!entry.key || !next_event(r, &event))
            return end;
        entry.value = read_node(r, &event, depth + 1);
        yaml_event_delete(&event);
        if (!entry.value || !add_candidate(merge ? merges : entries, entry, false))
            return false;
    }
    return false;
}

static bool merge_map(struct reader *r, struct candidates *entries, const struct config_node *map)
{
    if (map->kind != CONFIG_MAP)
        COMPLAIN(r, map->at, "<< takes a map or a list of maps");
    for (size_t i = 0; map->kind == CONFIG_MAP && i < map->count; i++)
        if (!add_candidate(entries, map->entries[i], true))
            return false;
    return true;
}

static bool merge_value(struct reader *r, struct candidates *entries, const struct config_node *value)
{
    if (value->kind != CONFIG_LIST)
        return merge_map(r, entries, value);
    for (size_t i = 0; i < value->count; i++)
        if (!merge_map(r, entries, value->items[i]))
            return false;
    return true;
}

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = *(struct candidate *const *)left, *b = *(struct candidate *const *)right;
    int order = strcmp(a->entry.key, b->entry.key);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

// The first of each name stays: a map's own keys come before merged ones, so those must not be repeated.
static bool drop_repeated(struct reader *r, struct candidates *entries)
{
    struct candidate **sorted = mem_try_array(entries->count, sizeof *sorted), *first = NULL;
    if (!sorted)
        return false;
    for (size_t i = 0; i < entries->count; i++)
        sorted[i] = &entries->items[i];
    qsort(sorted, entries->count, sizeof *sorted, compare_candidates);
    for (size_t i = 0; i < entries->count; i++) {
        struct candidate *c = sorted[i];
        c->dropped = first && strcmp(first->entry.key, c->entry.key) == 0;
        if (!c->dropped)
            first = c;
        else if (!c->merged)
            COMPLAIN(r, c->entry.key_at, "the key \"%s\" is given twice, first at %s:%d:%d", c->entry.key,
                     first->entry.key_at.source, first->entry.key_at.line, first->entry.key_at.column);
    }
    free(sorted);
    return true;
}

static bool finish_map(struct reader *r, struct config_node *node, struct candidates *entries,
                       const struct candidates *merges)
{
    for (size_t i = 0; i < merges->count; i++)
        if (!merge_value(r, entries, merges->items[i].entry.value))
            return false;
    if (entries->count == 0)
        return true;
    if (!drop_repeated(r, entries))
        return false;
    node->entries = arena_alloc(r->request->arena, entries->count * sizeof *node->entries);
    for (size_t i = 0; i < entries->count; i++)
        if (!entries->items[i].dropped)
            node->entries[node->count++] = entries->items[i].entry;
    return true;
}

static struct config_node *read_map(struct reader *r, const yaml_event_t *event, int depth)
{
    static const char *const tags[] = {TAG_PREFIX "map", NULL};
    struct config_node *node = new_node(r, position_of(r, event->start_mark), CONFIG_MAP, depth);
    struct candidates entries = {0}, merges = {0};
    if (!node)
        return NULL;
    check_tag(r, event->data.mapping_start.tag, event->start_mark, tags);
    bool ok = read_entries(r, &entries, &merges, depth) && finish_map(r, node, &entries, &merges);
    free(entries.items);
    free(merges.items);
    return ok ? node : NULL;
}

static struct config_node *read_node(struct reader *r, yaml_event_t *event, int depth)
{
    struct config_node *node;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return read_alias(r, event, depth);
    case YAML_SCALAR_EVENT:
        node = read_scalar(r, event, depth);
        remember_anchor(r, node ? event->data.scalar.anchor : NULL, node);
        return node;
    case YAML_SEQUENCE_START_EVENT:
        node = read_list(r, event, depth);
        remember_anchor(r, node ? event->data.sequence_start.anchor : NULL, node);
        return node;
    case YAML_MAPPING_START_EVENT:
        node = read_map(r, event, depth);
        remember_anchor(r, node ? event->data.mapping_start.anchor : NULL, node);
        return node;
    default:
        COMPLAIN(r, position_of(r, event->start_mark), "not YAML: a value is missing");
        return NULL;
    }
}

// What follows the first document: its end, and the stream's.
static bool check_end(struct reader *r)
{
    yaml_event_t event;
    for (bool more = true; more;) {
        if (!next_event(r, &event))
            return false;
        more = event.type == YAML_DOCUMENT_END_EVENT;
        bool second = event.type == YAML_DOCUMENT_START_EVENT;
        struct config_position at = position_of(r, event.start_mark);
        yaml_event_delete(&event);
        if (second) {
            COMPLAIN(r, at, "a second YAML document begins here; only one is read");
            return false;
        }
    }
    return true;
}

static struct config_node *read_document(struct reader *r)
{
    yaml_event_t event;
    while (next_event(r, &event)) {
        yaml_event_type_t type = event.type;
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT) {
            yaml_event_delete(&event);
            continue;
        }
        struct config_node *node;
        if (type == YAML_STREAM_END_EVENT)
            node = new_node(r, (struct config_position){r->request->source, 1, 1}, CONFIG_NULL, r->request->depth);
        else
            node = read_node(r, &event, r->request->depth);
        yaml_event_delete(&event);
        return node && (type == YAML_STREAM_END_EVENT || check_end(r)) ? node : NULL;
    }
    return NULL;
}

struct config_node *config_read_yaml(const struct yaml_request *request, bool *clean_out)
{
    struct reader r = {.request = request, .clean = true};
    struct config_node *root = NULL;
    if (request->text.len > LIMIT_CONFIG_BYTES)
        COMPLAIN(&r, (struct config_position){.source = request->source}, "%zu bytes, allowed are %d",
                 request->text.len, LIMIT_CONFIG_BYTES);
    else if (!yaml_parser_initialize(&r.parser))
        COMPLAIN(&r, (struct config_position){.source = request->source}, "out of memory");
    else {
        static const uint8_t nothing[1] = {0};
        yaml_parser_set_input_string(&r.parser, request->text.len ? request->text.data : nothing, request->text.len);
        root = read_document(&r);
        yaml_parser_delete(&r.parser);
        r.clean = r.clean && root;
    }
    *clean_out = r.clean;
    return root;
}

struct config_node *config_parse_yaml(struct arena *arena, struct bytes text, const char *source,
                                      struct config_errors *errors)
{
    size_t nodes_left = LIMIT_CONFIG_NODES;
    bool clean;
    struct yaml_request request = {
        .arena = arena, .text = text, .source = source, .errors = errors, .nodes_left = &nodes_left};
    struct config_node *root = config_read_yaml(&request, &clean);
    return clean ? root : NULL;
}
