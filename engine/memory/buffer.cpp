// SPDX-License-Identifier: Apache-2.0
#include "memory/buffer.hpp"

#include <cstdint>
#include <cstdio>
#include <utility>

#include "memory/allocation.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

void check_request(const Request& request) {
    if (request.bytes > static_cast<std::size_t>(PTRDIFF_MAX))
        throw Error("allocate", "longer than any object can be", request.bytes);
    if (request.offset_bytes > request.bytes)
        throw Error("allocate", "offset " + std::to_string(request.offset_bytes) + " lies behind the end",
                    request.bytes);
    if (!takes(request.kind, request.pages))
        throw Error(
            "allocate",
            std::string("pages '") + name(request.pages) + "' are not for " + name(request.kind) + " memory",
            request.bytes);
}

void check_range(const char* call, std::size_t at, std::size_t length, std::size_t bytes) {
    if (at <= bytes && length <= bytes - at) return;
    throw Error(call, std::to_string(length) + " bytes at " + std::to_string(at) + " leave the allocation",
                bytes);
}

}  // namespace

Buffer::Buffer(const Request& request) : bytes_(request.bytes), offset_bytes_(request.offset_bytes) {
    check_request(request);
    const KindEntry& kind = entry(request.kind);
    if (const auto reason = kind.unavailable()) throw Error(kind.name, *reason, request.bytes);
    allocation_ = kind.allocate(request);
}

Buffer::~Buffer() {
    try {
        release();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "slowpath: warning: memory was not freed: %s\n", error.what());
    }
}

Buffer::Buffer(Buffer&& other) noexcept = default;

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    Buffer old(std::move(*this));  // frees what this buffer held, with the destructor's warning if that fails
    allocation_ = std::move(other.allocation_);
    bytes_ = other.bytes_;
    offset_bytes_ = other.offset_bytes_;
    return *this;
}

std::byte* Buffer::base() const {
    return allocation_->base();
}
std::byte* Buffer::data() const {
    return base() + offset_bytes_;
}
std::size_t Buffer::bytes() const {
    return bytes_;
}
Observed Buffer::observe() const {
    return allocation_->observe();
}
std::byte* Buffer::host_view() const {
    return allocation_->host_view();
}

void Buffer::write(std::size_t at, std::span<const std::byte> from) {
    check_range("write", at, from.size(), bytes_);
    if (!from.empty()) allocation_->write(at, from);
}

void Buffer::read(std::size_t at, std::span<std::byte> to) const {
    check_range("read", at, to.size(), bytes_);
    if (!to.empty()) allocation_->read(at, to);
}

void Buffer::release() {
    if (const auto allocation = std::exchange(allocation_, nullptr)) allocation->release();
}

}  // namespace slowpath::memory
