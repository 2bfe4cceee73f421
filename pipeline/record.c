// SPDX-License-Identifier: Apache-2.0
#include "pipeline/record.h"

#include "base/mem.h"

struct record *record_create(uint8_t *data, size_t len)
{
    struct record *r = MEM_NEW(struct record);
    r->data = data;
    r->len = len;
    return r;
}

void record_destroy(struct record **r)
{
    if (*r == NULL)
        return;
    free((*r)->data);
    free((*r)->header_values);
    free((*r)->first_refusal);
    free(*r);
    *r = NULL;
}

void record_list_drop(struct record_list *l, const char *text)
{
    if (l->dropped == NULL)
        l->dropped = mem_copy_text(text);
}

void record_list_fini(struct record_list *l)
{
    free(l->dropped);
    while (l->head != NULL) {
        struct record *r = l->head;
        l->head = r->next;
        record_destroy(&r);
    }
    record_list_init(l);
}
