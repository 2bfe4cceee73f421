// SPDX-License-Identifier: Apache-2.0
// Any bytes are refused with a reason, or give keys and values that are UTF-8 and no longer than what they were read from.
#include "processors/k8s_downward.h"

#include "base/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct kube_pair *pairs;
    size_t count, bytes = 0;
    struct err e = {0};
    arena_init(&arena, 0);
    enum err_code rc = k8s_downward_parse((struct bytes){data, size}, &arena, &pairs, &count, &e);
    CHECK(rc == ERR_OK || (e.code == rc && e.text[0] != '\0'));
    for (size_t i = 0; i < count; i++) {
        CHECK(pairs[i].key.len > 0 && utf8_valid(pairs[i].key) && utf8_valid(pairs[i].value));
        bytes += pairs[i].key.len + pairs[i].value.len;
    }
    CHECK(bytes <= size);
    free(pairs);
    arena_fini(&arena);
    return 0;
}
