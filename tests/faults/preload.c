/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into slowpath, the launcher and the ranks: does to them what the files in $SLOWPATH_FAULTS_FOLDER say.
 *
 *   full  exists: the disk of $SLOWPATH_FAULTS_RUN is full. The first write is cut short, all later ones get ENOSPC,
 *         as write(2) has it.
 *   step  holds seconds: the clock of the day has been set by so many. CLOCK_MONOTONIC is not touched, as
 *         clock_gettime(2) has it.
 *
 * $SLOWPATH_FAULTS_KILL_AT_LINK is "before" or "after": SIGKILL right there, at the first link(2).
 *
 * SIGRTMIN+3 ends the process with code 0 at once: a rank that leaves without MPI_Finalize.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char* flag_path(const char* name, char* path) {
    const char* folder = getenv("SLOWPATH_FAULTS_FOLDER");
    if (folder == NULL) return NULL;
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static int in_the_run(int descriptor) {
    const char* run = getenv("SLOWPATH_FAULTS_RUN");
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, target, sizeof target - 1);
    if (run == NULL || length <= 0) return 0;
    target[length] = '\0';
    return strncmp(target, run, strlen(run)) == 0;
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
    static int cut = 0;
    char path[PATH_MAX];
    const char* flag = flag_path("full", path);
    if (flag != NULL && access(flag, F_OK) == 0 && in_the_run(descriptor)) {
        if (cut || bytes < 2) {
            errno = ENOSPC;
            return -1;
        }
        cut = 1;
        bytes /= 2;
    }
    return syscall(SYS_write, descriptor, data, bytes);
}

int link(const char* old_path, const char* new_path) {
    const char* when = getenv("SLOWPATH_FAULTS_KILL_AT_LINK");
    if (when != NULL && strcmp(when, "before") == 0) raise(SIGKILL);
    const long result = syscall(SYS_linkat, AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
    if (when != NULL) raise(SIGKILL);
    return (int)result;
}

static long step_s(void) {
    char path[PATH_MAX], text[32] = "";
    const char* flag = flag_path("step", path);
    if (flag == NULL) return 0;
    const int descriptor = open(flag, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    if (read(descriptor, text, sizeof text - 1) < 0) text[0] = '\0';
    close(descriptor);
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*) = NULL;
    if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += step_s();
    return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now != NULL) *now = precise.tv_sec;
    return precise.tv_sec;
}

static void leave(int number) {
    (void)number;
    _exit(0);
}

__attribute__((constructor)) static void begin(void) {
    if (getenv("SLOWPATH_FAULTS_FOLDER") != NULL) signal(SIGRTMIN + 3, leave);
}
