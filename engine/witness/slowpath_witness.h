/* SPDX-License-Identifier: Apache-2.0 */
/* libslowpath-witness.so: what it counted in this process. Preloaded (LD_PRELOAD), never linked: a program
 * finds slowpath_witness_read by dlsym(RTLD_DEFAULT, ...); nullptr: nobody counts.
 * docs/internals/statistics.md */
#ifndef SLOWPATH_WITNESS_H
#define SLOWPATH_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slowpath_witness_number {
    const char* name;   /* of the kind of call, e.g. "process_vm_readv" */
    uint64_t calls;     /* since the process began, failed ones included */
    uint64_t failed;    /* of them, those that returned an error */
    uint64_t bytes;     /* moved, or the length of the mapping; 0 where has_bytes is 0 */
    uint32_t has_bytes; /* 1: calls of this kind have a length */
    uint64_t time_ns;   /* inside calls of a kind that waits; 0 where waits is 0 */
    uint32_t waits;     /* 1: calls of this kind wait, which is no work */
};

/* Write at most `room` numbers to `numbers`, in an order that never changes in one process. Returns how many
 * kinds there are, which may be more. Thread-safe and async-signal-safe. */
size_t slowpath_witness_read(struct slowpath_witness_number* numbers, size_t room);

#ifdef __cplusplus
}
#endif

#endif
