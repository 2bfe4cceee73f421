// SPDX-License-Identifier: Apache-2.0
// One turn of a loop, waiting a little for something to do. UV_RUN_ONCE of libuv before 1.45 may run a timer that
// is due and then wait for ever for something else.
#ifndef TESTS_SUPPORT_LOOP_STEP_H
#define TESTS_SUPPORT_LOOP_STEP_H

#include <poll.h>
#include <uv.h>

static inline void loop_step(uv_loop_t *loop)
{
    if (uv_run(loop, UV_RUN_NOWAIT) != 0)
        (void)poll(&(struct pollfd){.fd = uv_backend_fd(loop), .events = POLLIN}, 1, 1);
}

#endif
