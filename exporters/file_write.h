// SPDX-License-Identifier: Apache-2.0
// What the file exporter does to the disk. Everything here blocks; success means durable.
#ifndef EXPORTERS_FILE_WRITE_H
#define EXPORTERS_FILE_WRITE_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

enum { FILE_PREFIX_BYTES = 4 }; // the length in front of each message, big-endian

// The folder that holds path: "." for a bare name. free() it.
char *file_folder_of(const char *path);

// Creates the file if it is missing, empties it unless append. With append, half a message that a crash left
// at the end is cut off (*cut_bytes_out); a file of another kind is an error and stays as it is. lines: messages are
// lines of JSON, else each stands behind its length.
enum err_code file_open_messages(const char *path, bool lines, bool append, uint64_t *cut_bytes_out,
                                 struct err *e) MUST_USE;
// Appends messages with their prefixes or line ends in one write; after a failure the file is as long as before.
enum err_code file_append(const char *path, struct bytes messages, struct err *e) MUST_USE;
// Puts content at folder/name: the file is there whole or as it was before.
enum err_code file_replace(const char *folder, const char *name, struct bytes content, struct err *e) MUST_USE;

#endif
