// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what redaction does with one attribute, and what it tells about a list of them.
#ifndef PROCESSORS_REDACTION_RULES_H
#define PROCESSORS_REDACTION_RULES_H

#include "processors/redaction_mask.h"
#include "profile/edit.h"

enum redaction_summary { SUMMARY_SILENT, SUMMARY_INFO, SUMMARY_DEBUG };

struct redaction_rules {
    bool allow_all_keys, redact_all_types;
    const struct config_strings *allowed_keys, *ignored_keys;
    struct regex_list ignored_key_patterns, blocked_key_patterns, blocked_values, allowed_values;
    struct mask mask;
    enum redaction_summary summary;
};

// What masked texts may take together: hashes are longer than what they stand for.
#define REDACTION_MAX_BYTES ((size_t)64 << 20)

// One run. What stands for texts and values is in `texts` until the end.
struct redaction_work {
    const struct redaction_rules *rules;
    struct arena texts;
    size_t bytes;       // in it, about
    struct arena arena; // of the last summary
};

void redaction_work_init(struct redaction_work *w, const struct redaction_rules *rules);
void redaction_work_fini(struct redaction_work *w);

// How the key is listed, for redaction_judge.
uint8_t redaction_mark(const struct redaction_rules *rules, struct bytes key);

enum redaction_note { NOTE_NONE, NOTE_REMOVED, NOTE_MASKED, NOTE_ALLOWED, NOTE_IGNORED };

// NOTE_REMOVED: the attribute goes; of code (mappings, locations) none does. *changed_out: *v is another one.
// ERR_LIMIT: REDACTION_MAX_BYTES.
enum err_code redaction_judge(struct redaction_work *w, bool of_code, uint8_t mark, struct value *v,
                              enum redaction_note *note_out, bool *changed_out, struct err *e) MUST_USE;

// *text with what the patterns find masked.
enum err_code redaction_mask_text(struct redaction_work *w, const struct regex_list *patterns, struct bytes *text,
                                  bool *found_out, struct err *e) MUST_USE;

enum { REDACTION_SUMMARY_MAX = 7 };

// The attributes that tell of a list (as it was, with its notes), in place of those with the same keys; the texts live until
// the next call.
enum err_code redaction_summarize(struct redaction_work *w, const struct unit_attribute *list, const uint8_t *notes,
                                  uint32_t count, struct unit_attribute out[REDACTION_SUMMARY_MAX], uint32_t *count_out,
                                  struct err *e) MUST_USE;

#endif
