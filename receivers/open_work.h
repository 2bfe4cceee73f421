// SPDX-License-Identifier: Apache-2.0
// What a receiver with servers waits for before it has stopped. Loop thread.
#ifndef RECEIVERS_OPEN_WORK_H
#define RECEIVERS_OPEN_WORK_H

#include "pipeline/component.h"

struct open_work {
    struct component *component;
    size_t servers;  // opened and not closed yet
    size_t requests; // alive, answered or not
    bool stopping;
};

void open_work_request_ended(struct open_work *w);
void open_work_server_closed(void *work); // on_closed of a server
// component_stopped follows, now or with the last of them.
void open_work_stop(struct open_work *w);

#endif
