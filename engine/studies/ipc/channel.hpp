// SPDX-License-Identifier: Apache-2.0
/// Two processes and the pipes between them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace slowpath::ipc {

using Message = std::vector<std::byte>;

/// One end of a pair of pipes; whole messages go in and out.
class Channel {
  public:
    Channel(int read_descriptor, int write_descriptor) : in_(read_descriptor), out_(write_descriptor) {}
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// @throws EnvironmentFailure: the other process is gone.
    void send(std::span<const std::byte> message);
    /// @return false at the end: the other process closed its end, or died.
    bool receive(Message& message);

  private:
    bool read_all(std::span<std::byte> to);

    int in_;
    int out_;
};

/// A second process, forked before this one has made any driver call: a driver's state does not survive a
/// fork.
class Peer {
  public:
    /// @param body What the second process does; its return value is the exit code. It dies with the first
    /// one.
    /// @throws EnvironmentFailure.
    explicit Peer(const std::function<int(Channel&)>& body);
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Send a request and wait for its answer.
    /// @throws EnvironmentFailure: the peer is gone (and how it ended), or its answer is an error, which is
    /// rethrown.
    Message ask(std::span<const std::byte> request);

  private:
    std::string ending();

    pid_t pid_ = -1;
    std::optional<Channel> channel_;  // empty once closed
};

/// An answer is this byte and its content, or the other one and an error's text.
inline constexpr std::byte answer_ok{'+'};
inline constexpr std::byte answer_error{'!'};

template <class T>
void append(Message& to, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Take one value off the front.  @throws EnvironmentFailure: the message is too short.
void take_bytes(std::span<const std::byte>& from, std::span<std::byte> to);

template <class T>
T take(std::span<const std::byte>& from) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    take_bytes(from, std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

}  // namespace slowpath::ipc
