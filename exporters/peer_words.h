// SPDX-License-Identifier: Apache-2.0
// What a peer says goes to logs and terminals: no controls, no broken characters, no runs of spaces; of a page only its text.
#ifndef EXPORTERS_PEER_WORDS_H
#define EXPORTERS_PEER_WORDS_H

#include "base/bytes.h"

enum { PEER_WORDS_MAX = 160 };

void peer_words_clean(struct bytes raw, bool is_page, char out[PEER_WORDS_MAX + 1]);

#endif
