// SPDX-License-Identifier: Apache-2.0
#include "record/witness.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "core/json.hpp"

namespace slowpath {

namespace {

std::int64_t nanoseconds(const timeval& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::int64_t>(time.tv_usec) * 1000;
}

}  // namespace

Witness read_witness() {
    Witness witness;
    rusage usage{};
    witness.valid = getrusage(RUSAGE_SELF, &usage) == 0;
    witness.minor_faults = usage.ru_minflt;
    witness.major_faults = usage.ru_majflt;
    witness.user_time_ns = nanoseconds(usage.ru_utime);
    witness.system_time_ns = nanoseconds(usage.ru_stime);
    witness.voluntary_switches = usage.ru_nvcsw;
    witness.involuntary_switches = usage.ru_nivcsw;
    witness.cpu = sched_getcpu();
    return witness;
}

void store_witness(BlockHeader& header, const Witness& before, const Witness& after) {
    header.cpu_begin = before.cpu;
    header.cpu_end = after.cpu;
    if (before.cpu != after.cpu) header.flags |= block_flag::migrated;
    if (!before.valid || !after.valid) return;
    header.flags |= block_flag::witness;
    header.minor_faults = after.minor_faults - before.minor_faults;
    header.major_faults = after.major_faults - before.major_faults;
    header.user_time_ns = after.user_time_ns - before.user_time_ns;
    header.system_time_ns = after.system_time_ns - before.system_time_ns;
    header.voluntary_switches = after.voluntary_switches - before.voluntary_switches;
    header.involuntary_switches = after.involuntary_switches - before.involuntary_switches;
}

namespace {

std::string counts_json(const std::vector<slowpath_witness_number>& numbers) {
    JsonObject counts;
    for (const slowpath_witness_number& number : numbers) {
        JsonObject one;
        one.unsigned_integer("calls", number.calls);
        if (number.has_bytes != 0)
            one.unsigned_integer("bytes", number.bytes);
        else
            one.null("bytes");
        if (number.waits != 0)
            one.unsigned_integer("time_ns", number.time_ns);
        else
            one.null("time_ns");
        counts.raw(number.name, one.unsigned_integer("failed", number.failed).str());
    }
    return counts.str();
}

}  // namespace

CallLedger::CallLedger()
    : read_(reinterpret_cast<decltype(read_)>(dlsym(RTLD_DEFAULT, "slowpath_witness_read"))) {}

CallLedger::Numbers CallLedger::now() const {
    Numbers numbers(read_(nullptr, 0));
    read_(numbers.data(), numbers.size());
    return numbers;
}

void CallLedger::begin() {
    if (witnessed()) before_ = now();
}

void CallLedger::end(Phase phase, std::int64_t operations) {
    if (!witnessed() || operations == 0) return;
    const Numbers after = now();
    Sum& sum = sums_[static_cast<std::size_t>(phase)];
    sum.operations += operations;
    if (sum.numbers.empty()) {
        sum.numbers = after;
        for (slowpath_witness_number& number : sum.numbers)
            number.calls = number.failed = number.bytes = number.time_ns = 0;
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
        sum.numbers[i].calls += after[i].calls - before_[i].calls;
        sum.numbers[i].failed += after[i].failed - before_[i].failed;
        sum.numbers[i].bytes += after[i].bytes - before_[i].bytes;
        sum.numbers[i].time_ns += after[i].time_ns - before_[i].time_ns;
    }
}

std::string CallLedger::take(std::uint32_t cell, int rank) {
    std::string lines;
    for (std::size_t phase = 0; phase < sums_.size(); ++phase) {
        const Sum& sum = sums_[phase];
        if (sum.operations == 0) continue;
        JsonObject event;
        event.integer("cell", cell).integer("rank", rank).text("phase", phase_names[phase]);
        event.integer("operations", sum.operations).raw("counts", counts_json(sum.numbers));
        lines += "calls " + event.fields() + "\n";
    }
    sums_ = {};
    return lines;
}

namespace {

template <class Function>
Function found(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

/// "192.0.2.2:40000", the same on both sides; "": neither IPv4 nor IPv6, or no longer open.
std::string address(int file, int (*ask)(int, sockaddr*, socklen_t*)) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (ask(file, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return "";
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (storage.ss_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, &storage, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
        return std::string(text.data()) + ":" + std::to_string(ntohs(four.sin_port));
    }
    if (storage.ss_family == AF_INET6) {
        sockaddr_in6 six{};
        std::memcpy(&six, &storage, sizeof six);
        inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
        return std::string(text.data()) + ":" + std::to_string(ntohs(six.sin6_port));
    }
    return "";
}

std::string row(std::initializer_list<std::uint64_t> numbers, int socket) {
    std::string text = "[" + std::to_string(socket);
    for (const std::uint64_t number : numbers) text += "," + std::to_string(number);
    return text + "]";
}

}  // namespace

MessageLog::MessageLog()
    : start_(found<decltype(start_)>("slowpath_witness_messages_start")),
      mark_(found<decltype(mark_)>("slowpath_witness_messages_mark")),
      stop_(found<decltype(stop_)>("slowpath_witness_messages_stop")),
      room_(found<decltype(room_)>("slowpath_witness_messages_room")) {}

void MessageLog::start() {
    start_();
}

std::string MessageLog::take(std::uint32_t cell, int rank, std::uint64_t known_calls) {
    const slowpath_witness_message* log = nullptr;
    const std::size_t all = stop_(&log);
    const std::size_t kept = std::min(all, room_());
    std::map<int, int> numbers;
    std::vector<std::string> sockets;
    std::vector<std::string> rows;
    for (const slowpath_witness_message& entry : std::span(log, kept)) {
        int socket = -1;
        if (entry.file >= 0) {
            const auto [place, is_new] = numbers.try_emplace(entry.file, static_cast<int>(numbers.size()));
            socket = place->second;
            if (is_new)
                sockets.push_back("[" + json_text(address(entry.file, getsockname)) + "," +
                                  json_text(address(entry.file, getpeername)) + "]");
        }
        rows.push_back(row({entry.what, entry.from, entry.bytes}, socket));
    }
    JsonObject event;
    event.integer("cell", cell).integer("rank", rank).unsigned_integer("known_calls", known_calls);
    event.unsigned_integer("lost", all - kept);
    event.raw("sockets", json_array(sockets)).raw("log", json_array(rows));
    return "messages " + event.fields() + "\n";
}

}  // namespace slowpath
