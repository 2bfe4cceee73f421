// SPDX-License-Identifier: Apache-2.0
// Whose code a function is: the user's own, or a runtime's, the standard library's, a package's, the kernel's. A table
// of rules on its file, module and name; docs/flamegraph.md lists them.
#ifndef VIEW_OWN_CODE_H
#define VIEW_OWN_CODE_H

#include "base/regex.h"

// own: found in the name, file or module of what is own code, instead of the rules; NULL = the rules.
bool is_own_code(struct bytes name, struct bytes file, struct bytes module, const struct regex *own);

#endif
