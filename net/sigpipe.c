// SPDX-License-Identifier: Apache-2.0
#include "net/sigpipe.h"

#include <signal.h>
#include <stddef.h>

void sigpipe_ignore(void)
{
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
}
