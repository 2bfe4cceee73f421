// SPDX-License-Identifier: Apache-2.0
// What the otlp_layout_*.c files share while one request's layout is looked for. Internal to them.
//
// The layouts still possible are bits; every sign takes some away. A profile that no layout allows is bad in any case: it
// is passed over, and the decoder says what is wrong with it.
#ifndef CODEC_OTLP_LAYOUT_FINDER_H
#define CODEC_OTLP_LAYOUT_FINDER_H

#include "codec/otlp_layout.h"
#include "codec/otlp_reader.h"

#define LAYOUT_BIT(layout) (1u << (layout))
enum {
    L5 = LAYOUT_BIT(OTLP_LAYOUT_1_5),
    L7 = LAYOUT_BIT(OTLP_LAYOUT_1_7),
    L8 = LAYOUT_BIT(OTLP_LAYOUT_1_8),
    L9 = LAYOUT_BIT(OTLP_LAYOUT_1_9),
    LC = LAYOUT_BIT(OTLP_LAYOUT_CURRENT),
    L_OLD = L5 | L7,
    L_NEW = L8 | L9 | LC,
    L_ALL = L_OLD | L_NEW,
};

struct layout_sign {
    const char *what; // a message, or without a number a whole clause
    uint32_t number;
    enum wire_type type;
    uint32_t against; // layouts
};

struct layout_view {
    uint32_t possible;
    uint32_t sign_count;
    struct layout_sign signs[OTLP_LAYOUTS]; // each took a layout away
    bool newer_fields;                      // some that current has not, maybe from a release to come
    bool samples_differ;                    // 1.9 and current read some sample otherwise
    bool profiles_differ;                   // 1.8 and 1.9 read some profile otherwise
    bool olds_differ;                       // so do those up to 1.7 and those since
};

struct layout_finder {
    struct bytes request;
    bool has_dictionary;
    bool has_profile_containers; // of 1.3
    bool has_profiles;           // that some layout allows
    bool says_current;           // decides what the bytes leave open
    struct layout_view view;
};

static inline bool layout_single(uint32_t layouts) // one or none
{
    return (layouts & (layouts - 1)) == 0;
}

static inline void layout_narrow(struct layout_view *v, uint32_t allowed, struct layout_sign sign)
{
    sign.against = v->possible & ~allowed;
    if (sign.against == 0)
        return;
    v->signs[v->sign_count++] = sign;
    v->possible &= allowed;
}

static inline bool layout_decided(const struct layout_finder *f)
{
    return layout_single(f->view.possible); // the header decides when all is seen: the bytes may contradict it
}

// wire_next with a short way for what nearly all fields are: a tag of one byte, then a varint or a length of one or two.
static inline bool layout_next(struct wire_reader *r, struct wire_field *f)
{
    const uint8_t *at = r->at;
    if (r->end - at < 3 || at[0] < 8 || at[0] >= 0x80 || (at[1] >= 0x80 && at[2] >= 0x80))
        return wire_next(r, f);
    const uint32_t type = at[0] & 7, two = at[1] >= 0x80;
    const uint64_t number = two ? (at[1] & 0x7fu) | (uint64_t)at[2] << 7 : at[1];
    const uint8_t *behind = at + 2 + two;
    if (type > WIRE_LEN || type == WIRE_FIXED64 || (type == WIRE_LEN && number > (size_t)(r->end - behind)))
        return wire_next(r, f);
    f->number = at[0] >> 3;
    f->type = (enum wire_type)type;
    f->varint = type == WIRE_VARINT ? number : 0;
    f->bytes = (struct bytes){behind, type == WIRE_LEN ? (size_t)number : 0};
    r->at = behind + f->bytes.len;
    return true;
}

// Every profile of the request until visit returns false. False: the request itself is damaged, e says where.
bool layout_each_profile(struct layout_finder *f, void *arg,
                         bool (*visit)(struct layout_finder *f, void *arg, struct bytes profile),
                         struct err *e) MUST_USE;

// otlp_layout_wire.c: a message's fields by what each layout has there.
struct layout_message {
    const char *name;
    uint32_t newest; // field of current
    struct {
        uint8_t varint, fixed64, bytes;
    } rows[24];
};
void layout_see(struct layout_view *v, const struct layout_message *m, const struct wire_field *field);
// What the fields and counts of a profile leave of v. False: nothing.
bool layout_allows_profile(struct layout_finder *f, struct bytes profile, struct layout_view *v);
// The same of all profiles, until one layout is left.
bool layout_look_at_profiles(struct layout_finder *f, struct err *e) MUST_USE;
// Fields of the dictionary's elements.
void layout_look_at_dictionary(struct layout_finder *f);
// Every element of the dictionary's tables. False = damaged.
bool layout_each_element(const struct layout_finder *f, void *arg,
                         void (*visit)(void *arg, enum otlp_table table, struct bytes element)) MUST_USE;

// Numbers of values and timestamps in a sample, since 1.8.
static inline bool layout_shape_fits(uint64_t values, uint64_t timestamps)
{
    return timestamps == 0 ? values == 1 : values == 0 || values == timestamps;
}

// otlp_layout_index.c: indices against the tables they point into, when the fields alone leave several layouts.
enum err_code layout_check_indices(struct layout_finder *f, struct err *e) MUST_USE;

#endif
