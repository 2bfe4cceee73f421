// SPDX-License-Identifier: Apache-2.0
// File name patterns.
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

// `path` against a glob: * and ? within one path element, [a-z] classes ([!a-z] for all others), ** across
// elements ("/a/**/*.pb.gz" matches "/a/x.pb.gz" and "/a/b/c/x.pb.gz"), \ before a character that means itself.
// ** that is not a whole element is *. A [ that is never closed means itself. Names that begin with a dot are
// like others. ? and classes take one UTF-8 character. Texts longer than LIMIT_PATH_BYTES match nothing.
// Work is at most strlen(pattern) * strlen(path) steps, without allocation.
bool glob_match(const char *pattern, const char *path);

#endif
