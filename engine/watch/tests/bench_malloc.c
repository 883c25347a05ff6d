/* SPDX-License-Identifier: Apache-2.0
 * A program that allocates much, to be run without and with the preloaded library: ns of a malloc and its
 * free, the least of 15 rounds. 64 live blocks, replaced one by one, of 16 to 512 B, to 60 kB, and 70 to 100
 * kB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static double least_ns(size_t least_bytes, size_t most_bytes, int count) {
    static void* volatile blocks[64];
    double least = 1e18;
    for (int round = 0; round < 15; ++round) {
        unsigned long long random = 1;
        double begin = now_ns();
        for (int i = 0; i < count; ++i) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            free(blocks[i % 64]);
            blocks[i % 64] = malloc(least_bytes + (random >> 33) % (most_bytes - least_bytes + 1));
        }
        double each = (now_ns() - begin) / count;
        if (each < least) least = each;
    }
    for (int i = 0; i < 64; ++i) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    return least;
}

int main(void) {
    printf("%.1f %.1f %.1f\n", least_ns(16, 512, 200000), least_ns(16, 60000, 100000),
           least_ns(70000, 100000, 50000));
    return 0;
}
