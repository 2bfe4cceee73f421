// SPDX-License-Identifier: Apache-2.0
// The only writer of dictionaries and samples; it interns as it goes, so equal items get equal ids.
// The first failure (out of memory, more items than u32 or max_bytes allow) sticks: later calls return 0
// and do nothing, builder_finish reports it. So a decoder is straight-line code with one check at the end;
// a decoder that loops over hostile input asks builder_failed now and then to stop early.
//
// Ids given to it must have come from the same builder (CHECKed): decoders map and check foreign ids first.
// One thread at a time.
#ifndef PROFILE_BUILDER_H
#define PROFILE_BUILDER_H

#include "base/err.h"
#include "profile/batch.h"

struct builder;

// max_bytes bounds everything the builder allocates; 0 = no bound. Never NULL: even the first failure sticks.
struct builder *builder_create(size_t max_bytes);
void builder_destroy(struct builder **b);
bool builder_failed(const struct builder *b);

// How many items are to come, at most: room is made once instead of growing again and again. A hint only: what
// would take too much of max_bytes is left to grow.
struct builder_expected {
    uint32_t strings, functions, locations, lines, stacks, stack_bytes;
};
void builder_expect(struct builder *b, const struct builder_expected *expected);

// Dictionary items. The zero value gives id 0. Bytes and values are copied.
uint32_t builder_string(struct builder *b, struct bytes text); // broken UTF-8 is replaced by U+FFFD and counted
uint32_t builder_string_text(struct builder *b, const char *text);
uint32_t builder_mapping(struct builder *b, const struct batch_mapping *m);
uint32_t builder_function(struct builder *b, const struct batch_function *f);
// line_start and line_count of l are ignored; the lines are given beside it.
uint32_t builder_location(struct builder *b, const struct batch_location *l, const struct batch_line *lines,
                          uint32_t line_count);
uint32_t builder_stack(struct builder *b, const uint32_t *locations, uint32_t count);
// The same for a decoder of many stacks: it writes them, encoded as in profile/stack.h, behind each other where
// they may stay, and they are looked up a block at a time, when the places to look are on their way from memory.
// Between the first room and the take no other stack may be added, and these ids are not checked.
enum { BUILDER_STACK_BLOCK = 16 };
// Where the next stack of the block goes, with room for max_size bytes; what was written there before stays.
// NULL after a failure.
uint8_t *builder_stack_room(struct builder *b, size_t max_size);
void builder_stack_put(struct builder *b, uint32_t size);       // ends it; at most BUILDER_STACK_BLOCK in a block
void builder_stacks_take(struct builder *b, uint32_t *ids_out); // one id for each; all 0 after a failure
// The caller knows that every location so far but element 0 is in a stack so far, also of those in blocks, which are
// not looked into: spares looking for those that are not. Holds until the next location is added.
void builder_every_location_used(struct builder *b);
uint32_t builder_link(struct builder *b, const struct batch_link *l);
// Broken UTF-8 inside the value is repaired and counted, too; so it is in resources and scopes.
uint32_t builder_attribute(struct builder *b, uint32_t key, uint32_t unit, const struct value *v);
// Order is kept, but not significant: sets with the same members in another order are one set. Keys must
// be unique; of two attributes with one key the first is kept.
uint32_t builder_attribute_set(struct builder *b, const uint32_t *attributes, uint32_t count);
// The set without/with one more attribute (replacing the one with the same key).
uint32_t builder_attribute_set_with(struct builder *b, uint32_t set, uint32_t attribute);

// Strings whose broken UTF-8 was replaced so far.
uint64_t builder_repaired_strings(const struct builder *b);
// Read access to what was interned so far; pointers are valid until the next builder call.
struct bytes builder_string_get(const struct builder *b, uint32_t id);

// Containers, nested: resource { scope { profile ... } }. Each begin closes the open one of its own level
// and below. Everything given is copied, except columns and observations, which are referenced.
void builder_resource(struct builder *b, const struct key_value *attributes, uint32_t count,
                      uint32_t dropped_attributes_count, struct bytes schema_url);
void builder_resource_entity_ref(struct builder *b, struct bytes encoded); // adds to the open resource
void builder_scope(struct builder *b, struct bytes name, struct bytes version, const struct key_value *attributes,
                   uint32_t count, uint32_t dropped_attributes_count, struct bytes schema_url);
// Adds a profile to the open scope; takes over p->columns and p->observations (also on failure).
void builder_profile(struct builder *b, const struct profile *p);

// Closes everything and gives the batch (one reference). On failure *out is NULL and e says why. The
// builder is empty afterwards and may only be destroyed.
enum err_code builder_finish(struct builder *b, struct batch **out, struct err *e) MUST_USE;

// Samples being written, one row after the other; turned into columns and observations at the end.
struct sample_writer {
    struct builder *builder; // carries the sticky failure
    uint32_t *stacks, *attribute_sets, *links;
    size_t stack_capacity, set_capacity, link_capacity;
    uint32_t count;
    bool any_attributes, any_links;
};

// fini is due in every case, also after take.
void sample_writer_init(struct sample_writer *w, struct builder *b);
void sample_writer_fini(struct sample_writer *w);
void sample_writer_expect(struct sample_writer *w, uint32_t samples); // a hint, as builder_expect
void sample_writer_add(struct sample_writer *w, uint32_t stack, uint32_t attribute_set, uint32_t link);
// Seals what was written (one reference, NULL after a failure); the writer is empty again.
struct columns *sample_writer_take(struct sample_writer *w);

// Values and timestamps, sample by sample in the order of the columns. A shape OTLP does not have (none of
// both, several values without timestamps, counts that differ) fails the builder with ERR_INVALID; a decoder
// that can name the place checks before.
struct observation_writer {
    struct builder *builder;
    int64_t *values;
    uint64_t *timestamps;
    uint32_t *value_ends, *timestamp_ends;
    size_t value_capacity, timestamp_capacity, value_end_capacity, timestamp_end_capacity;
    size_t value_count, timestamp_count;
    uint32_t count;
    bool one_value_each;
};

void observation_writer_init(struct observation_writer *w, struct builder *b);
void observation_writer_fini(struct observation_writer *w);
void observation_writer_expect(struct observation_writer *w, uint32_t values); // a hint, as builder_expect
void observation_writer_add(struct observation_writer *w, const int64_t *values, uint32_t value_count,
                            const uint64_t *timestamps, uint32_t timestamp_count);
static inline void observation_writer_add_value(struct observation_writer *w, int64_t value)
{
    if (w->one_value_each && w->timestamp_count == 0 && w->value_count < w->value_capacity) {
        w->values[w->value_count++] = value;
        w->count++;
        return;
    }
    observation_writer_add(w, &value, 1, NULL, 0);
}
struct observations *observation_writer_take(struct observation_writer *w);

#endif
