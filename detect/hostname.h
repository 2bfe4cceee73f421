// SPDX-License-Identifier: Apache-2.0
// Inside detect/: the host's name, from the sources that are configured, in order.
#ifndef DETECT_HOSTNAME_H
#define DETECT_HOSTNAME_H

#include "detect/detector.h"

// "dns", "os", "cname", "lookup"
bool hostname_source_known(const char *source);
// Adds host.name, then ends the run.
void hostname_begin(struct detector_run *r);
void hostname_cancel(struct detector_run *r); // ends it at once; the system may still be asked, unheard

#endif
