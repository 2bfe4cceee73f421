// SPDX-License-Identifier: Apache-2.0
// Strings of resources and scopes in the string table: those of the dictionary that are written, then those it lacks.
#include "codec/otlp_writer.h"

#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"

struct otlp_texts {
    struct index_table index; // ids: of the dictionary's strings, then places in `more`
    void *more;               // struct bytes[], borrowed from the batch
    size_t count, capacity;
};

static struct bytes text_at(const struct otlp_writer *w, uint32_t id)
{
    const struct dictionary *d = w->batch->dictionary;
    return id < d->string_count ? d->strings[id] : ((const struct bytes *)w->texts->more)[id - d->string_count];
}

// False: *slot_out is where it belongs.
static bool find(const struct otlp_writer *w, struct bytes text, uint64_t hash, uint32_t *slot_out, uint32_t *id_out)
{
    const struct index_table *index = &w->texts->index;
    uint32_t slot = index_table_start(index, hash);
    for (; index_table_next(index, hash, &slot, id_out); index_table_skip(index, &slot))
        if (bytes_equal(text_at(w, *id_out), text))
            return true;
    *slot_out = slot;
    return false;
}

bool otlp_texts_init(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    w->texts = MEM_NEW(struct otlp_texts);
    if (!index_table_expect(&w->texts->index, w->prune.strings.kept))
        return false;
    for (uint32_t i = 1, slot, id; i < d->string_count; i++) {
        uint64_t hash = hash_bytes(d->strings[i].data, d->strings[i].len);
        if (prune_keeps(&w->prune.strings, i) && !find(w, d->strings[i], hash, &slot, &id))
            index_table_insert(&w->texts->index, hash, slot, i);
    }
    return true;
}

void otlp_texts_fini(struct otlp_writer *w)
{
    if (w->texts == NULL)
        return;
    index_table_fini(&w->texts->index);
    free(w->texts->more);
    free(w->texts);
    w->texts = NULL;
}

static bool add(struct otlp_writer *w, struct bytes text, uint64_t hash, uint32_t *id_out)
{
    struct otlp_texts *t = w->texts;
    const uint32_t strings = w->batch->dictionary->string_count;
    uint32_t slot = 0;
    if (!index_table_reserve(&t->index) ||
        !mem_try_grow(&t->more, &t->capacity, t->count + 1, sizeof(struct bytes), UINT32_MAX - 1 - strings))
        return false;
    find(w, text, hash, &slot, id_out); // the table may have grown
    *id_out = strings + (uint32_t)t->count;
    ((struct bytes *)t->more)[t->count++] = text;
    index_table_insert(&t->index, hash, slot, *id_out);
    return true;
}

uint32_t otlp_text_number(struct otlp_writer *w, struct bytes text)
{
    const uint32_t strings = w->batch->dictionary->string_count;
    uint64_t hash = hash_bytes(text.data, text.len);
    uint32_t slot, id;
    if (text.len == 0)
        return 0;
    if (!find(w, text, hash, &slot, &id) && !add(w, text, hash, &id)) {
        w->out->failed = true;
        return 0;
    }
    return id < strings ? prune_id(&w->prune.strings, id) : w->prune.strings.kept + (id - strings);
}

void otlp_write_more_texts(struct otlp_writer *w)
{
    const struct bytes *more = w->texts->more;
    for (size_t i = 0; i < w->texts->count && otlp_room(w, 1 + OTLP_MAX_VARINT + more[i].len); i++)
        w->at = otlp_put_bytes(w->at, 5, more[i]);
}
