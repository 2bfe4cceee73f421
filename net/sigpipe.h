// SPDX-License-Identifier: Apache-2.0
#ifndef NET_SIGPIPE_H
#define NET_SIGPIPE_H

// libuv writes without MSG_NOSIGNAL: a peer that has gone must be an error, not the end of the process.
// Leaves a handler that the program has installed. Any number of times.
void sigpipe_ignore(void);

#endif
