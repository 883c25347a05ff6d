// SPDX-License-Identifier: Apache-2.0
#include "ipc/channel.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/error.hpp"

namespace slowpath::ipc {
namespace {

using Pipe = std::array<int, 2>;

Pipe make_pipe() {
    Pipe ends{};
    if (pipe(ends.data()) != 0) throw EnvironmentFailure(std::string("pipe: ") + std::strerror(errno));
    return ends;
}

}  // namespace

Channel::~Channel() {
    close(in_);
    close(out_);
}

void Channel::send(std::span<const std::byte> message) {
    Message framed;
    append(framed, std::uint64_t{message.size()});
    framed.insert(framed.end(), message.begin(), message.end());
    std::span<const std::byte> rest = framed;
    while (!rest.empty()) {
        const ssize_t written = write(out_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0)
            throw EnvironmentFailure(std::string("write to the other process: ") + std::strerror(errno));
        rest = rest.subspan(static_cast<std::size_t>(written));
    }
}

bool Channel::read_all(std::span<std::byte> to) {
    while (!to.empty()) {
        const ssize_t got = read(in_, to.data(), to.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

bool Channel::receive(Message& message) {
    std::uint64_t length = 0;
    if (!read_all(std::as_writable_bytes(std::span(&length, 1)))) return false;
    message.resize(length);
    return read_all(message);
}

Peer::Peer(const std::function<int(Channel&)>& body) {
    const Pipe there = make_pipe(), back = make_pipe();
    // What stands in the buffers would be printed by both processes.
    std::fflush(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw EnvironmentFailure(std::string("fork: ") + std::strerror(errno));
    if (pid_ == 0) {
        close(there[1]);
        close(back[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);  // it died before the line above
        Channel channel(there[0], back[1]);
        _exit(body(channel));
    }
    close(there[0]);
    close(back[1]);
    channel_.emplace(back[0], there[1]);
    std::signal(SIGPIPE, SIG_IGN);
}

Peer::~Peer() {
    channel_.reset();  // the peer meets the end of its input and leaves
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

std::string Peer::ending() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return "for an unknown reason";
    pid_ = -1;
    if (WIFSIGNALED(status)) return "by signal " + std::to_string(WTERMSIG(status));
    return "with exit code " + std::to_string(WEXITSTATUS(status));
}

Message Peer::ask(std::span<const std::byte> request) {
    Message answer;
    bool sent = true;
    try {
        channel_->send(request);
    } catch (const EnvironmentFailure&) {
        sent = false;
    }
    if (!sent || !channel_->receive(answer) || answer.empty())
        throw EnvironmentFailure("the importing process ended " + ending());
    const bool good = answer[0] == answer_ok;
    answer.erase(answer.begin());
    if (!good)
        throw EnvironmentFailure(std::string(reinterpret_cast<const char*>(answer.data()), answer.size()));
    return answer;
}

void take_bytes(std::span<const std::byte>& from, std::span<std::byte> to) {
    if (from.size() < to.size()) throw EnvironmentFailure("a message between the two processes is too short");
    std::copy_n(from.begin(), to.size(), to.begin());
    from = from.subspan(to.size());
}

}  // namespace slowpath::ipc
