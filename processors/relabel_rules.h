// SPDX-License-Identifier: Apache-2.0
// Inside processors/: Prometheus' relabelling (model/relabel, names of labels by its UTF-8 scheme), of labels only: knows
// no profiles. tests/interop compares the two.
#ifndef PROCESSORS_RELABEL_RULES_H
#define PROCESSORS_RELABEL_RULES_H

#include "processors/relabel_labels.h"
#include "processors/relabel_template.h"

#include <openssl/types.h>

enum relabel_action {
    RELABEL_REPLACE,
    RELABEL_KEEP,
    RELABEL_DROP,
    RELABEL_KEEPEQUAL,
    RELABEL_DROPEQUAL,
    RELABEL_HASHMOD,
    RELABEL_LABELMAP,
    RELABEL_LABELDROP,
    RELABEL_LABELKEEP,
    RELABEL_LOWERCASE,
    RELABEL_UPPERCASE,
};

extern const char *const relabel_action_names[]; // NULL-terminated

// A rule as written. Defaults are the caller's to fill in: separator ";", replacement "$1".
struct relabel_rule_text {
    enum relabel_action action;
    const struct bytes *source_labels;
    size_t source_count;
    struct bytes separator, replacement, target_label; // target_label.len 0 = not given
    bool has_regex;                                    // else "(.*)"
    struct bytes regex;
    uint64_t modulus; // 0 = not given
};

struct relabel_rule {
    struct relabel_rule_text text;
    struct relabel_regex regex;
    struct relabel_template target, replacement;
    EVP_MD *md5; // of hashmod
};

enum err_code relabel_no_memory(struct err *e); // sets and returns ERR_MEMORY

// What Prometheus refuses; key_out is the key that is at fault, "" = the rule.
enum err_code relabel_rule_check(const struct relabel_rule_text *text, const char **key_out, struct err *e) MUST_USE;
// Checks and compiles. The bytes of text must outlive the rule; fini is due in every case.
enum err_code relabel_rule_compile(struct arena *arena, const struct relabel_rule_text *text, struct relabel_rule *out,
                                   const char **key_out, struct err *e) MUST_USE;
void relabel_rule_fini(struct relabel_rule *r);

// Memory of one run after the other.
struct relabel_run {
    struct label_list labels;
    struct arena arena;     // what rules make
    struct label *snapshot; // of the labels, while labelmap changes them
    size_t snapshot_capacity;
    bool kept;
};

void relabel_run_init(struct relabel_run *run);
void relabel_run_fini(struct relabel_run *run);

// Applies one rule to run->labels. run->kept becomes false if the rule drops them:
// no further rule may be applied then.
enum err_code relabel_rule_apply(const struct relabel_rule *r, struct relabel_run *run, struct err *e) MUST_USE;

#endif
