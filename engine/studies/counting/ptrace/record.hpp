// SPDX-License-Identifier: Apache-2.0
/// The file of one process, in the form that libslowpath-count.so writes too (docs/how-to/count.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "counting/ptrace/options.hpp"

namespace slowpath::counting::ptrace {

/// Of one call: how often each instruction was executed.
struct Counted {
    struct Times {
        std::uint64_t stepped = 0;
        std::uint64_t retired = 0;
    };

    void add(std::uint64_t address, bool next_iteration) {
        ++sum.stepped;
        sum.retired += !next_iteration;
        Times& times = at[address];
        ++times.stepped;
        times.retired += !next_iteration;
    }

    Times sum;
    std::map<std::uint64_t, Times> at;
};

class Record {
  public:
    Record(const Options& options, pid_t process);

    void found(const std::string& library);
    void uncountable(const std::optional<std::string>& library, const std::string& reason);
    void call(std::uint64_t number, pid_t thread, const Counted& counted);
    void call_without_count(std::uint64_t number, pid_t thread, const std::string& reason);
    void end(std::uint64_t calls);
    void forget_mappings() { mappings_told_ = false; }

  private:
    void line(const std::string& json) const;
    void tell_mappings();

    pid_t process_;
    std::string path_;
    bool mappings_told_ = false;
};

}  // namespace slowpath::counting::ptrace
