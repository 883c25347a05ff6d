/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLOWPATH_PAD_TESTS_EXPECT_H
#define SLOWPATH_PAD_TESTS_EXPECT_H

#include <stdio.h>

static int failures;

#define EXPECT_EQUAL(got, wanted)                                                                    \
    do {                                                                                             \
        unsigned long long got_ = (unsigned long long)(got), wanted_ = (unsigned long long)(wanted); \
        if (got_ == wanted_) break;                                                                  \
        __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                                          \
        fprintf(stderr, "%s:%d: %s is %llu, not %llu\n", __FILE__, __LINE__, #got, got_, wanted_);   \
    } while (0)

#define EXPECT(condition) EXPECT_EQUAL(!!(condition), 1)

#endif
