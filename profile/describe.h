// SPDX-License-Identifier: Apache-2.0
// Parts of a batch as text for people, each on one line; nothing in them can forge lines or steer a terminal.
#ifndef PROFILE_DESCRIBE_H
#define PROFILE_DESCRIBE_H

#include "profile/batch.h"

void describe_value(struct buf *out, const struct value *v);
// The same so that its kind can be told: "a text", null, bytes "AP8=".
void describe_value_exactly(struct buf *out, const struct value *v);
void describe_key_value(struct buf *out, const struct key_value *entry);                        // "service.name: shop"
void describe_attribute(struct buf *out, const struct dictionary *d, uint32_t attribute);       // "size: 16 bytes"
void describe_type(struct buf *out, const struct dictionary *d, struct value_type type);        // "cpu/nanoseconds"
void describe_function(struct buf *out, const struct dictionary *d, uint32_t function);         // "work", "(no name)"
void describe_line(struct buf *out, const struct dictionary *d, const struct batch_line *line); // "work a.go:12"
void describe_link(struct buf *out, const struct batch_link *link); // "trace 0102.., span 03.."
void describe_hex(struct buf *out, const uint8_t *id, size_t len);  // at most 32 bytes
// digits: of the second's fraction, 3 or 9.
void describe_time(struct buf *out, uint64_t nanos, int digits);     // "2023-11-14T22:13:20.123Z"; "unknown" for 0
void describe_duration(struct buf *out, uint64_t nanos, int digits); // "10.500s"

#endif
