// SPDX-License-Identifier: Apache-2.0
// Folders on disk. Everything here blocks.
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include "base/err.h"

#include <sys/types.h>

// "0750" as a user writes it; 0 = not a mode.
mode_t folder_mode_parse(const char *text);
// The folder and those above it, where they are missing.
enum err_code folder_create(const char *path, mode_t mode, struct err *e) MUST_USE;
// What was created, renamed or removed in it is durable afterwards.
enum err_code folder_sync(const char *path, struct err *e) MUST_USE;

#endif
