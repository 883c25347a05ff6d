/* SPDX-License-Identifier: Apache-2.0
 * libslowpath-pad.so, to be preloaded: docs/how-to/padding.md. A program that wants the numbers finds the function
 * by dlsym.
 */
#ifndef SLOWPATH_PAD_H
#define SLOWPATH_PAD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this process, since it began. Host allocations are those of at least SLOWPATH_PAD_HOST_MIN_BYTES,
 * counted only with SLOWPATH_PAD_HOST=1; how long they live is not watched, so they have no peak. */
struct slowpath_pad_numbers {
    uint64_t device_allocations;      /* that succeeded, of any length */
    uint64_t device_padded;           /* of them, made longer */
    uint64_t device_added_bytes;      /* by which, all together */
    uint64_t device_added_now_bytes;  /* of those not yet freed */
    uint64_t device_added_peak_bytes; /* most at one time */
    uint64_t device_untracked;        /* padded, but not in the two numbers above: too many at once */
    uint64_t host_allocations;
    uint64_t host_padded;
    uint64_t host_added_bytes;
};

void slowpath_pad_statistics(struct slowpath_pad_numbers* numbers);

#ifdef __cplusplus
}
#endif
#endif
