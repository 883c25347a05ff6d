// SPDX-License-Identifier: Apache-2.0
/// Writes events.jsonl and samples.blk: append only, a line and a block at a time, readable after every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/json.hpp"

namespace slowpath {

/// A file that only grows; what was appended is in the kernel's hands when append() returns.
class AppendFile {
  public:
    /// @throws EnvironmentFailure: can't be opened, or holds something already.
    explicit AppendFile(std::string path);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    /// All of it or, if the system refuses, none of it.  @throws EnvironmentFailure.
    void append(std::span<const std::byte> bytes);
    /// Onto the disk.  @throws EnvironmentFailure.
    void sync();

  private:
    [[noreturn]] void fail(const char* verb) const;

    std::string path_;
    int descriptor_;
    std::int64_t size_bytes_ = 0;
};

class RecordWriter {
  public:
    /// Makes the folder if it is not there.  @throws EnvironmentFailure.
    explicit RecordWriter(const std::string& folder);

    /// One line of events.jsonl.  @param t_ns CLOCK_MONOTONIC of rank 0.
    void event(std::string_view name, std::int64_t t_ns, const std::string& fields);
    void blocks(std::span<const std::byte> bytes) { samples_.append(bytes); }
    void sync();

  private:
    AppendFile events_;
    AppendFile samples_;
};

}  // namespace slowpath
