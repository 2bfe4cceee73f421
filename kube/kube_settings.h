// SPDX-License-Identifier: Apache-2.0
// Inside of kube/kube_watch.h: what a configuration may say, and when two of them mean the same watch.
#ifndef KUBE_KUBE_SETTINGS_H
#define KUBE_KUBE_SETTINGS_H

#include "kube/kube_watch.h"

bool kube_settings_equal(const struct kube_watch_settings *a, const struct kube_watch_settings *b);
// Not empty, and nothing that would end a selector's part, or begin another.
bool kube_name_is_plain(const char *name);

#endif
