/* SPDX-License-Identifier: Apache-2.0 */
/* Run with libslowpath-witness.so preloaded: each kind of call counts once, and nothing else changes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../slowpath_witness.h"

enum { most = 32, page = 4096 };

static size_t (*read_numbers)(struct slowpath_witness_number*, size_t);

static struct slowpath_witness_number now(const char* name) {
    struct slowpath_witness_number numbers[most];
    const size_t kinds = read_numbers(numbers, most);
    for (size_t i = 0; i < kinds; ++i)
        if (strcmp(numbers[i].name, name) == 0) return numbers[i];
    fprintf(stderr, "no kind %s\n", name);
    exit(1);
}

static void expect(int holds, const char* what, const char* name) {
    if (holds) return;
    fprintf(stderr, "%s: %s\n", name, what);
    exit(1);
}

static struct slowpath_witness_number before;

static void begin(const char* name) {
    before = now(name);
    errno = EXDEV;
}

/* What was counted since begin(). */
static void counted(const char* name, uint64_t calls, uint64_t failed, uint64_t bytes) {
    const int after_call = errno;
    const struct slowpath_witness_number after = now(name);
    expect(after.calls - before.calls == calls, "calls", name);
    expect(after.failed - before.failed == failed, "failed calls", name);
    expect(after.bytes - before.bytes == bytes, "bytes", name);
    if (failed == 0) expect(after_call == EXDEV, "errno was left alone", name);
}

static void copies(void) {
    char from[100] = "one copy", to[100] = "";
    struct iovec local = {to, sizeof to}, remote = {from, sizeof from};
    begin("process_vm_readv");
    expect(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof to, "result", "process_vm_readv");
    counted("process_vm_readv", 1, 0, sizeof to);
    expect(strcmp(to, "one copy") == 0, "data", "process_vm_readv");
    begin("process_vm_writev");
    expect(process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == sizeof to, "result", "process_vm_writev");
    counted("process_vm_writev", 1, 0, sizeof to);
    remote.iov_base = NULL;
    begin("process_vm_readv");
    expect(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == -1 && errno == EFAULT, "errno", "readv");
    counted("process_vm_readv", 1, 1, 0);
    remote.iov_base = from;
    begin("process_vm_readv");
    expect(syscall(SYS_process_vm_readv, getpid(), &local, 1L, &remote, 1L, 0L) == sizeof to, "result",
           "syscall");
    counted("process_vm_readv", 1, 0, sizeof to);
}

static void sockets(void) {
    int ends[2], pipes[2];
    char data[64] = "data";
    struct iovec half = {data, 32};
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(pipes) == 0, "made", "sockets");
    begin("socket_send");
    expect(send(ends[0], data, 10, 0) == 10 && write(ends[0], data, 20) == 20, "result", "send");
    expect(writev(ends[0], &half, 1) == 32, "result", "writev");
    expect(write(pipes[1], data, 5) == 5, "result", "a pipe is no socket");
    counted("socket_send", 3, 0, 62);
    begin("socket_receive");
    expect(recv(ends[1], data, 10, 0) == 10 && read(ends[1], data, 20) == 20, "result", "recv");
    expect(readv(ends[1], &half, 1) == 32, "result", "readv");
    expect(read(pipes[0], data, 5) == 5, "result", "a pipe is no socket");
    counted("socket_receive", 3, 0, 62);
    begin("socket_receive");
    expect(recv(ends[1], data, 10, MSG_DONTWAIT) == -1 && errno == EAGAIN, "errno", "recv");
    counted("socket_receive", 1, 1, 0);
    struct pollfd one = {ends[1], POLLIN, 0};
    begin("poll");
    expect(poll(&one, 1, 0) == 0, "result", "poll");
    counted("poll", 1, 0, 0);
}

static void mappings(void) {
    begin("mmap");
    char* memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(memory != MAP_FAILED, "result", "mmap");
    counted("mmap", 1, 0, 3 * page);
    memory[0] = 1;
    begin("mprotect");
    expect(mprotect(memory, page, PROT_READ) == 0, "result", "mprotect");
    counted("mprotect", 1, 0, page);
    begin("madvise");
    expect(madvise(memory, 2 * page, MADV_NORMAL) == 0, "result", "madvise");
    counted("madvise", 1, 0, 2 * page);
    begin("munmap");
    expect(munmap(memory, 3 * page) == 0, "result", "munmap");
    counted("munmap", 1, 0, 3 * page);
    begin("mmap");
    expect(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL,
           "errno", "mmap");
    counted("mmap", 1, 1, 0);
}

/* Time in calls that wait is noted, of others none; what takes longer shows more of it. */
static void waiting_time(void) {
    const struct timespec moment = {0, 2000000};
    begin("sleep");
    expect(nanosleep(&moment, NULL) == 0, "result", "nanosleep");
    expect(clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL) == 0, "result", "clock_nanosleep");
    expect(usleep(2000) == 0 && syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL) == 0,
           "result", "usleep");
    counted("sleep", 4, 0, 0);
    expect(now("sleep").time_ns - before.time_ns >= 8000000, "time of four sleeps", "sleep");
    begin("poll");
    expect(poll(NULL, 0, 2) == 0, "result", "poll");
    counted("poll", 1, 0, 0);
    expect(now("poll").time_ns - before.time_ns >= 2000000, "time", "poll");
    before = now("sched_yield");
    for (int i = 0; i < 100; ++i) sched_yield();
    expect(now("sched_yield").time_ns > before.time_ns, "time", "sched_yield");
    expect(now("sched_yield").waits == 1 && now("ioctl").waits == 0, "which kinds wait", "waits");
    expect(now("ioctl").time_ns == 0 && now("mmap").time_ns == 0, "no time of what is work", "time");
}

static void waits(void) {
    int word = 0, there = 0, pipes[2];
    begin("futex_wait");
    expect(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL) == -1 && errno == EAGAIN, "errno", "futex");
    counted("futex_wait", 1, 1, 0);
    begin("futex_wait");
    expect(syscall(SYS_futex, &word, FUTEX_WAKE, 1) == 0, "a wake is no wait", "futex");
    counted("futex_wait", 0, 0, 0);
    begin("sched_yield");
    expect(sched_yield() == 0, "result", "sched_yield");
    counted("sched_yield", 1, 0, 0);
    expect(syscall(SYS_getpid) == getpid(), "a call that is not counted", "syscall");
    expect(pipe(pipes) == 0, "made", "pipe");
    begin("ioctl");
    expect(ioctl(pipes[0], FIONREAD, &there) == 0, "result", "ioctl");
    counted("ioctl", 1, 0, 0);
}

int main(void) {
    void* const found = dlsym(RTLD_DEFAULT, "slowpath_witness_read");
    expect(found != NULL, "the library is there", "dlsym");
    memcpy(&read_numbers, &found, sizeof read_numbers);
    copies();
    sockets();
    mappings();
    waits();
    waiting_time();
    puts("witness: ok");
    return 0;
}
