// SPDX-License-Identifier: Apache-2.0
#include "exporters/worker_compressors.h"

#include "base/mem.h"
#include "pipeline/worker.h"

void worker_compressors_init(struct worker_compressors *w, unsigned workers, enum compression kind, int level)
{
    *w = (struct worker_compressors){
        .items = mem_alloc(workers * sizeof(struct compressor *)), .count = workers, .kind = kind, .level = level};
}

void worker_compressors_fini(struct worker_compressors *w)
{
    for (unsigned i = 0; i < w->count; i++)
        compressor_destroy(&w->items[i]);
    free(w->items);
    *w = (struct worker_compressors){0};
}

enum err_code worker_compressors_run(struct worker_compressors *w, struct bytes data, struct buf *out, struct err *e)
{
    struct compressor **c = &w->items[worker_current_index()];
    if (*c == NULL)
        *c = compressor_create(w->kind, w->level);
    if (*c == NULL)
        return err_set(e, ERR_MEMORY, "out of memory for the compressor");
    return compressor_run(*c, data, out, e);
}
