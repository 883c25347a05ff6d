// SPDX-License-Identifier: Apache-2.0
#include "record/messages.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
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
