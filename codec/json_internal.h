// SPDX-License-Identifier: Apache-2.0
// What the json_*.c files share. Internal to them.
#ifndef CODEC_JSON_INTERNAL_H
#define CODEC_JSON_INTERNAL_H

#include "codec/json.h"

struct json_raw_string { // between the quotes, escapes checked
    struct bytes text;
    bool escaped, high; // bytes from 0x80 on
};

// The cursor is at the opening quote; afterwards behind the closing one.
bool json_scan_string(struct json_reader *r, struct json_raw_string *out);
bool json_read_string(struct json_reader *r, struct bytes *out);

// How many characters a number at the beginning of text has; 0 = it is none.
size_t json_number_len(struct bytes text);

#endif
