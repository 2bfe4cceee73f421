// SPDX-License-Identifier: Apache-2.0
#include "pipeline/claim.h"

enum err_code claim_exactly(struct claim *c, size_t bytes, struct err *e)
{
    if (!budget_try_change(c->budget, c->bytes, bytes))
        return err_set(e, ERR_MEMORY, "service.memory_limit of %zu bytes has no room for this request now",
                       c->budget->limit);
    c->bytes = bytes;
    return ERR_OK;
}

enum err_code claim_at_least(struct claim *c, size_t bytes, struct err *e)
{
    return bytes > c->bytes ? claim_exactly(c, bytes, e) : ERR_OK;
}

enum err_code claim_more(struct claim *c, size_t times, struct err *e)
{
    size_t limit = c->budget->limit;
    if (c->bytes >= limit) {
        err_prefix(e, "service.memory_limit");
        return ERR_LIMIT;
    }
    return claim_exactly(c, c->bytes > limit / times ? limit : c->bytes * times, e);
}

void claim_end(struct claim *c)
{
    budget_give(c->budget, c->bytes);
    c->bytes = 0;
}
