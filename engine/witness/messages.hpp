// SPDX-License-Identifier: Apache-2.0
/// The order in which bytes went through sockets, between marks: which message a rank sent after it had
/// received which other.
#pragma once

#include <cstdint>

namespace slowpath::witness {

/// Bytes that a call on a socket moved. Without a recording the socket's place in its stream advances, which
/// the other side counts alike.
void note_sent(int file, std::uint64_t bytes);
void note_received(int file, std::uint64_t bytes);
/// The file is closed: what gets its number next is another stream.
void forget(int file);

}  // namespace slowpath::witness
