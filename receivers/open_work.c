// SPDX-License-Identifier: Apache-2.0
#include "receivers/open_work.h"

static void maybe_stopped(struct open_work *w)
{
    if (!w->stopping || w->servers > 0 || w->requests > 0)
        return;
    w->stopping = false;
    component_stopped(w->component);
}

void open_work_request_ended(struct open_work *w)
{
    w->requests--;
    maybe_stopped(w);
}

void open_work_server_closed(void *work)
{
    struct open_work *w = work;
    w->servers--;
    maybe_stopped(w);
}

void open_work_stop(struct open_work *w)
{
    w->stopping = true;
    maybe_stopped(w);
}
