// SPDX-License-Identifier: Apache-2.0
#include "memory/buffer.hpp"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "memory/allocation.hpp"

namespace slowpath::memory {

namespace {

constexpr std::array page_names{
    std::pair{Pages::system_default, "default"},
    std::pair{Pages::small, "small"},
    std::pair{Pages::huge, "huge"},
    std::pair{Pages::shared, "shared"},
};

}  // namespace

const char* name(Kind kind) {
    return entry(kind).name;
}

std::optional<Kind> kind_from(std::string_view word) {
    for (const KindEntry* candidate : registry())
        if (word == candidate->name) return candidate->kind;
    return std::nullopt;
}

const char* name(Pages pages) {
    for (const auto& [value, word] : page_names)
        if (value == pages) return word;
    throw std::logic_error("page kind without a name in memory/names.cpp");
}

std::optional<Pages> pages_from(std::string_view word) {
    for (const auto& [value, spelling] : page_names)
        if (word == spelling) return value;
    return std::nullopt;
}

bool takes(Kind kind, Pages pages) {
    return entry(kind).takes(pages);
}

bool needs_gpu(Kind kind) {
    return entry(kind).needs_gpu;
}

std::optional<std::string> unavailable(Kind kind) {
    return entry(kind).unavailable();
}

// All that distinguishes one way to touch memory from another: a new way is a row of this table.

namespace {

struct Way {
    Touch how;
    const char* word;
    void (*page)(volatile std::byte* byte);  ///< done to one byte of each page; nullptr: nothing
};

constexpr std::array ways{
    // A write, because reading fresh private memory only maps the kernel's shared zero page.
    Way{Touch::write, "write", [](volatile std::byte* byte) { *byte = std::byte{0}; }},
    Way{Touch::read, "read", [](volatile std::byte* byte) { static_cast<void>(*byte); }},
    Way{Touch::none, "none", nullptr},
};

const Way& way_of(Touch how) {
    for (const Way& way : ways)
        if (way.how == how) return way;
    throw std::logic_error("a way to touch memory without a row in memory/buffer.cpp");
}

}  // namespace

void touch_pages(Touch how, std::byte* begin, std::size_t bytes) {
    const auto page = way_of(how).page;
    if (page == nullptr || bytes == 0) return;
    for (std::size_t at = 0; at < bytes; at += system_page_bytes()) page(begin + at);
    page(begin + bytes - 1);  // an unaligned start leaves the last page behind the last full step
}

const char* name(Touch how) {
    return way_of(how).word;
}

std::optional<Touch> touch_from(std::string_view word) {
    for (const Way& way : ways)
        if (word == way.word) return way.how;
    return std::nullopt;
}

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

extern const KindEntry host_kind, mpi_kind, pinned_host_kind, pinned_registered_kind, device_kind,
    device_pool_kind, device_vmm_kind, managed_kind;

bool default_pages_only(Pages pages) {
    return pages == Pages::system_default;
}

std::span<const KindEntry* const> registry() {
    static const std::array entries{
        &host_kind,               //
        &mpi_kind,                //
        &pinned_host_kind,        //
        &pinned_registered_kind,  //
        &device_kind,             //
        &device_pool_kind,        //
        &device_vmm_kind,         //
        &managed_kind,            //
    };
    return entries;
}

const KindEntry& entry(Kind kind) {
    for (const KindEntry* candidate : registry())
        if (candidate->kind == kind) return *candidate;
    throw std::logic_error("memory kind without a line in memory/buffer.cpp");
}

}  // namespace slowpath::memory
