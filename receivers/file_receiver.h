// SPDX-License-Identifier: Apache-2.0
// What all receivers of files have in common: the keys, and the life of the watch behind them. Each names its formats.
#ifndef RECEIVERS_FILE_RECEIVER_H
#define RECEIVERS_FILE_RECEIVER_H

#include "receivers/file_watch.h"

struct file_receiver_settings { // first in the settings of each
    bool has_file;
    struct file_watch_settings file;
    const char *storage;
};

struct file_receiver { // first in each
    struct receiver receiver;
    const struct file_receiver_settings *settings;
    struct path_attributes *match;
    struct known_files *known;
    struct file_watch *watch;
};

extern const struct field file_receiver_file_fields[], file_receiver_limit_fields[];

#define FILE_RECEIVER_FIELDS                                                                                           \
    {.name = "file",                                                                                                   \
     .type = FIELD_STRUCT,                                                                                             \
     .fields = file_receiver_file_fields,                                                                              \
     .present_offset = 1 + offsetof(struct file_receiver_settings, has_file),                                          \
     .help = "watch files"},                                                                                           \
        {.name = "storage",                                                                                            \
         .type = FIELD_STRING,                                                                                         \
         .offset = offsetof(struct file_receiver_settings, storage),                                                   \
         .help = "id of the storage extension that remembers what was sent; without it a restart sends all again"},    \
        {.name = "timestamp",                                                                                          \
         .type = FIELD_ENUM,                                                                                           \
         .offset = offsetof(struct file_receiver_settings, file.options.timestamp),                                    \
         .default_text = "profile",                                                                                    \
         .names = file_timestamp_names,                                                                                \
         .help = "whose time a profile gets; profile falls back to the file's where there is none"},                   \
        {.name = "limits", .type = FIELD_STRUCT, .fields = file_receiver_limit_fields, .help = "what a file may hold"}

// example: a glob for the messages.
void file_receiver_check(const struct file_receiver_settings *s, const struct component_check *check,
                         const char *example);

// allowed: as profile_file_options has it.
enum err_code file_receiver_start(struct file_receiver *r, const struct format *const *allowed, struct err *e);
// Members of receiver_module.
void file_receiver_close(struct receiver *self);
void file_receiver_stop(struct receiver *self);
void file_receiver_destroy(struct receiver *self);

#endif
