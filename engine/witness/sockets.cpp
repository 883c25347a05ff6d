// SPDX-License-Identifier: Apache-2.0
/// What goes through sockets, by the functions of sockets and by those of files.
#undef _FORTIFY_SOURCE  // its inline functions have the names of the wrappers
#include "witness/sockets.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "witness/counters.hpp"
#include "witness/original.hpp"

namespace slowpath::witness {

bool is_socket(int file) {
    const int saved = errno;
    int type = 0;
    socklen_t length = sizeof type;
    const bool found = getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &length) == 0;
    errno = saved;
    return found;
}

namespace {

constinit Original real_send{"send"}, real_sendto{"sendto"}, real_sendmsg{"sendmsg"},
    real_sendmmsg{"sendmmsg"};
constinit Original real_recv{"recv"}, real_recvfrom{"recvfrom"}, real_recvmsg{"recvmsg"},
    real_recvmmsg{"recvmmsg"};
constinit Original real_write{"write"}, real_writev{"writev"}, real_read{"read"}, real_readv{"readv"};

[[gnu::constructor]] void look_all_up() {
    look_up({&real_send, &real_sendto, &real_sendmsg, &real_sendmmsg, &real_recv, &real_recvfrom,
             &real_recvmsg, &real_recvmmsg, &real_write, &real_writev, &real_read, &real_readv});
}

/// Of a function of files.
template <class Make>
ssize_t counted_if_socket(Call kind, int file, Make make) {
    const Scope scope;
    const ssize_t moved = make();
    if (scope.outermost() && is_socket(file)) note(kind, moved < 0, static_cast<std::uint64_t>(moved));
    return moved;
}

/// Of one that moves several messages and returns how many.
template <class Make>
int counted_messages(Call kind, const mmsghdr* messages, Make make) {
    const Scope scope;
    const int moved = make();
    std::uint64_t bytes = 0;
    for (int i = 0; i < moved; ++i) bytes += messages[i].msg_len;
    if (scope.outermost()) note(kind, moved < 0, bytes);
    return moved;
}

}  // namespace
}  // namespace slowpath::witness

using namespace slowpath::witness;

// Declared for the calls that _FORTIFY_SOURCE makes of read and recv; no header has them without it.
extern "C" {
ssize_t __read_chk(int file, void* to, size_t bytes, size_t room);
ssize_t __recv_chk(int file, void* to, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int file, void* to, size_t bytes, size_t room, int flags, sockaddr* from,
                       socklen_t* length);
}

#pragma GCC visibility push(default)
extern "C" {

ssize_t send(int file, const void* from, size_t bytes, int flags) {
    return counted(Call::socket_send, [&] { return call(real_send, &send, file, from, bytes, flags); });
}

ssize_t sendto(int file, const void* from, size_t bytes, int flags, const sockaddr* to, socklen_t length) {
    return counted(Call::socket_send,
                   [&] { return call(real_sendto, &sendto, file, from, bytes, flags, to, length); });
}

ssize_t sendmsg(int file, const msghdr* message, int flags) {
    return counted(Call::socket_send, [&] { return call(real_sendmsg, &sendmsg, file, message, flags); });
}

int sendmmsg(int file, mmsghdr* messages, unsigned int number, int flags) {
    return counted_messages(Call::socket_send, messages,
                            [&] { return call(real_sendmmsg, &sendmmsg, file, messages, number, flags); });
}

ssize_t recv(int file, void* to, size_t bytes, int flags) {
    return counted(Call::socket_receive, [&] { return call(real_recv, &recv, file, to, bytes, flags); });
}

ssize_t __recv_chk(int file, void* to, size_t bytes, size_t room, int flags) {
    if (bytes > room) __builtin_trap();
    return recv(file, to, bytes, flags);
}

ssize_t recvfrom(int file, void* to, size_t bytes, int flags, sockaddr* from, socklen_t* length) {
    return counted(Call::socket_receive,
                   [&] { return call(real_recvfrom, &recvfrom, file, to, bytes, flags, from, length); });
}

ssize_t __recvfrom_chk(int file, void* to, size_t bytes, size_t room, int flags, sockaddr* from,
                       socklen_t* length) {
    if (bytes > room) __builtin_trap();
    return recvfrom(file, to, bytes, flags, from, length);
}

ssize_t recvmsg(int file, msghdr* message, int flags) {
    return counted(Call::socket_receive, [&] { return call(real_recvmsg, &recvmsg, file, message, flags); });
}

int recvmmsg(int file, mmsghdr* messages, unsigned int number, int flags, timespec* patience) {
    return counted_messages(Call::socket_receive, messages, [&] {
        return call(real_recvmmsg, &recvmmsg, file, messages, number, flags, patience);
    });
}

ssize_t write(int file, const void* from, size_t bytes) {
    return counted_if_socket(Call::socket_send, file,
                             [&] { return call(real_write, &write, file, from, bytes); });
}

ssize_t writev(int file, const iovec* from, int number) {
    return counted_if_socket(Call::socket_send, file,
                             [&] { return call(real_writev, &writev, file, from, number); });
}

ssize_t read(int file, void* to, size_t bytes) {
    return counted_if_socket(Call::socket_receive, file,
                             [&] { return call(real_read, &read, file, to, bytes); });
}

ssize_t __read_chk(int file, void* to, size_t bytes, size_t room) {
    if (bytes > room) __builtin_trap();
    return read(file, to, bytes);
}

ssize_t readv(int file, const iovec* to, int number) {
    return counted_if_socket(Call::socket_receive, file,
                             [&] { return call(real_readv, &readv, file, to, number); });
}

}  // extern "C"
#pragma GCC visibility pop
