// SPDX-License-Identifier: Apache-2.0
// Batches written as folded stacks, and trees read the same way.
#ifndef TESTS_UNIT_VIEW_TREE_FIXTURE_H
#define TESTS_UNIT_VIEW_TREE_FIXTURE_H

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/builder.h"
#include "view/text.h"

struct batch_writer {
    struct builder *builder;
    struct sample_writer samples;
    struct observation_writer observations;
};

void batch_writer_init(struct batch_writer *w);
// "main@main.go!app;work>inlined": root first; a frame is name@file!module; > stands before an inlined call, which shares
// the location of its caller. "" = no stack; a frame without name is a location without lines.
uint32_t batch_writer_stack(struct batch_writer *w, const char *text);
void batch_writer_sample(struct batch_writer *w, const char *stack, int64_t value);
// Ends a profile of the samples since the last. drop and keep may be NULL.
void batch_writer_profile(struct batch_writer *w, const char *type, const char *unit, const char *drop,
                          const char *keep);
struct batch *batch_writer_finish(struct batch_writer *w);

// One sample type of `stacks`, a NULL-terminated list, the first of the value 1, the next 2, then 4, 8 ...
struct batch *batch_of(const char *type, const char *unit, const char *const *stacks);

// "main 0 3;work 1 3;": name, self and total of each node, children in brackets, sorted by name.
void assert_tree(const struct call_tree *t, const char *expected);
struct call_tree tree_of(const struct batch *b, const struct call_tree_options *options); // NULL = none

#endif
