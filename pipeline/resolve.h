// SPDX-License-Identifier: Apache-2.0
// Asks for the addresses of the hosts that a plan's components will connect to.
#ifndef PIPELINE_RESOLVE_H
#define PIPELINE_RESOLVE_H

#include "pipeline/plan.h"

// All at once; blocks for a few seconds at most. A name that does not exist is an error, one of which nothing can be
// learned now a warning, both at the key that has it.
void resolve_hosts(const struct plan *plan);

#endif
