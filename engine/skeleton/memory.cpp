// SPDX-License-Identifier: Apache-2.0
#include "skeleton/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace slowpath::skeleton {
namespace {

bool is_send(Kind kind) {
    return kind == Kind::send || kind == Kind::ssend || kind == Kind::isend || kind == Kind::issend ||
           kind == Kind::sendrecv;
}

/// The most that a collective gives and takes on this rank.
std::size_t largest_collective(const Script& script) {
    std::size_t most = 1;
    for (const Operation& operation : script.operations) {
        if (operation.kind < Kind::bcast) continue;
        const std::size_t members =
            script.communicators[static_cast<std::size_t>(operation.communicator)].size();
        const bool has_blocks = operation.kind >= Kind::gather && operation.kind <= Kind::alltoall;
        most = std::max(most, static_cast<std::size_t>(operation.first.bytes) * (has_blocks ? members : 1));
    }
    return most;
}

}  // namespace

Pages::Pages(std::size_t bytes) : data_(nullptr), bytes_(std::max<std::size_t>(bytes, 1)) {
    void* const found = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(found);
}

Pages::~Pages() {
    if (data_ != nullptr) munmap(data_, bytes_);
}

Pages::Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Memory::Memory(const Script& script)
    : given_(largest_collective(script), std::byte{1}), taken_(given_.size(), std::byte{2}) {
    buffers_.reserve(script.buffer_bytes.size());
    for (const std::int64_t bytes : script.buffer_bytes)
        buffers_.emplace_back(static_cast<std::size_t>(bytes), std::byte{3});
}

std::byte* Memory::at(const Message& message, bool is_sent) {
    if (message.buffer >= 0) return buffers_[static_cast<std::size_t>(message.buffer)].data();
    if (is_sent && prepared_ != nullptr) return std::exchange(prepared_, nullptr);
    std::byte* const data = fresh_.emplace_back(static_cast<std::size_t>(message.bytes)).data();
    if (is_sent) std::memset(data, 1, static_cast<std::size_t>(message.bytes));
    return data;
}

void Memory::prepare(const Operation& next) {
    if (is_send(next.kind) && next.first.buffer < 0 && prepared_ == nullptr) {
        std::byte* const data = at(next.first, true);
        prepared_ = data;
    }
}

void Memory::release(bool has_open) {
    if (!has_open && prepared_ == nullptr) fresh_.clear();
}

}  // namespace slowpath::skeleton
