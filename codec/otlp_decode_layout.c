// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_reader.h"

enum {
    COMMENTS = OTLP_PROFILE_COMMENTS,
    TIME = OTLP_PROFILE_TIME_VARINT,
    LOCATIONS = OTLP_PROFILE_LOCATIONS,
    DEFAULT_TYPE = OTLP_PROFILE_DEFAULT_TYPE,
    KEY_VALUES = OTLP_PROFILE_KEY_VALUES,
};

#define DICTIONARY {0, 1, 2, 3, 4, 5, 6, 7}

// Samples up to 1.7 have a reader of their own.
const struct otlp_numbers otlp_numbers[OTLP_LAYOUTS] =
    {
        [OTLP_LAYOUT_1_5] =
            {
                .profile = {[1] = 1,
                            [2] = 2,
                            [5] = LOCATIONS,
                            [11] = TIME,
                            [12] = 4,
                            [13] = 5,
                            [14] = 6,
                            [15] = COMMENTS,
                            [16] = DEFAULT_TYPE,
                            [17] = 7,
                            [18] = KEY_VALUES,
                            [19] = 8,
                            [20] = 9,
                            [21] = 10,
                            [22] = 11},
                .tables = {[3] = OTLP_MAPPINGS + 1,
                           [4] = OTLP_LOCATIONS + 1,
                           [6] = OTLP_FUNCTIONS + 1,
                           [7] = OTLP_ATTRIBUTES + 1,
                           [8] = OTLP_STACKS + 1,
                           [9] = OTLP_LINKS + 1,
                           [10] = OTLP_STRINGS + 1},
            },
        [OTLP_LAYOUT_1_7] =
            {
                .profile = {0, 1, 2, LOCATIONS, TIME, 4, 5, 6, COMMENTS, DEFAULT_TYPE, 7, 8, 9, 10, 11},
                .tables = DICTIONARY,
            },
        [OTLP_LAYOUT_1_8] =
            {
                .sample = {0, 1, 4, 2, 3, 5},
                .profile = {0, 1, 2, 3, 4, 5, 6, COMMENTS, 7, 8, 9, 10, 11},
                .tables = DICTIONARY,
            },
        [OTLP_LAYOUT_1_9] =
            {
                .sample = {0, 1, 4, 2, 3, 5},
                .profile = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                .tables = DICTIONARY,
            },
        [OTLP_LAYOUT_CURRENT] =
            {
                .sample = {0, 1, 2, 3, 4, 5},
                .profile = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                .tables = DICTIONARY,
            },
};
