// SPDX-License-Identifier: Apache-2.0
// OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME, as SDKs read them: "key=value,...", both percent-encoded.
#include "base/mem.h"
#include "base/text.h"
#include "codec/text_lines.h"
#include "detect/detector.h"

// A copy that is decoded; false for a broken escape. free() *text_out in every case.
static bool decode(struct bytes part, char **text_out, struct bytes *out)
{
    size_t len = part.len;
    char *text = *text_out = mem_alloc(len + 1); // the environment is small
    if (len > 0)
        memcpy(text, part.data, len);
    const bool good = percent_decode(text, &len);
    *out = (struct bytes){(const uint8_t *)text, len};
    return good;
}

static bool add_pair(struct detector_run *r, struct bytes pair)
{
    const uint8_t *equals = pair.len > 0 ? memchr(pair.data, '=', pair.len) : NULL;
    char *key_text = NULL, *value_text = NULL;
    struct bytes key = {NULL, 0}, value = {NULL, 0};
    if (equals == NULL)
        return false;
    const size_t key_len = (size_t)(equals - pair.data);
    bool good = decode(text_trim((struct bytes){pair.data, key_len}), &key_text, &key);
    good &= decode(text_trim((struct bytes){equals + 1, pair.len - key_len - 1}), &value_text, &value);
    if ((good &= key.len > 0))
        detector_put(r, key, value);
    free(key_text);
    free(value_text);
    return good;
}

// One wrong pair makes all of them doubtful: none is taken, as the specification has it.
static bool add_list(struct detector_run *r, const char *list)
{
    size_t number = 0;
    while (*list != '\0') {
        const size_t len = strcspn(list, ",");
        const struct bytes pair = text_trim((struct bytes){(const uint8_t *)list, len});
        number++;
        if (pair.len > 0 && !add_pair(r, pair)) {
            struct err e;
            err_set(&e, ERR_INVALID,
                    "entry %zu of OTEL_RESOURCE_ATTRIBUTES is no key=value with percent-encoded texts; none of them is "
                    "used",
                    number);
            detector_end(r, &e);
            return false;
        }
        list += len + (list[len] == ',');
    }
    return true;
}

static void begin(struct detector_run *r)
{
    const char *list = detector_env(r, "OTEL_RESOURCE_ATTRIBUTES");
    if (list == NULL)
        list = detector_env(r, "OTEL_RESOURCE"); // its name of old
    if (list != NULL && !add_list(r, list))
        return;
    detector_put(r, BYTES_LITERAL("service.name"), bytes_from_text(detector_env(r, "OTEL_SERVICE_NAME")));
    detector_end(r, NULL);
}

const struct detector detector_env_variables = {.name = "env", .begin = begin};
