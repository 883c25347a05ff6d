// SPDX-License-Identifier: Apache-2.0
#include "counting/preload/breakpoint.hpp"

#include "counting/preload/kernel.hpp"

namespace slowpath::counting::preload {
namespace {

constexpr std::uint8_t int3 = 0xcc;

/// By /proc/self/mem, which leaves the page's protection as it is: another thread may write next to it.
bool write_by_file(std::uint64_t address, std::uint8_t byte) {
    const int file = open_file("/proc/self/mem", O_WRONLY);
    if (file < 0) return false;
    const long written = kernel(SYS_pwrite64, static_cast<std::uint64_t>(file), word(&byte), 1, address);
    close_file(file);
    return written == 1;
}

bool write_by_protection(std::uint64_t address, std::uint8_t byte) {
    constexpr std::uint64_t page_bytes = 4096;
    const std::uint64_t page = address & ~(page_bytes - 1);
    if (kernel(SYS_mprotect, page, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
    *reinterpret_cast<volatile std::uint8_t*>(address) = byte;
    kernel(SYS_mprotect, page, page_bytes, PROT_READ | PROT_EXEC);
    return true;
}

bool write_code(std::uint64_t address, std::uint8_t byte) {
    return write_by_file(address, byte) || write_by_protection(address, byte);
}

}  // namespace

bool Breakpoint::place(std::uint64_t address) {
    original_ = *reinterpret_cast<const std::uint8_t*>(address);
    address_.store(address, std::memory_order_release);
    return write_code(address, int3);
}

void Breakpoint::lift() {
    write_code(address(), original_);
}

void Breakpoint::put_back() {
    if (!removed_.load()) write_code(address(), int3);
}

void Breakpoint::remove() {
    removed_.store(true);
    write_code(address(), original_);
}

Breakpoint* Breakpoints::at(std::uint64_t address) {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i)
        if (breakpoints_[i].address() == address) return &breakpoints_[i];
    return nullptr;
}

Breakpoint* Breakpoints::place(std::uint64_t address) {
    const std::size_t count = count_.load();
    if (count >= most) return nullptr;
    // Known before it can be met.
    Breakpoint& made = breakpoints_[count];
    count_.store(count + 1, std::memory_order_release);
    return made.place(address) ? &made : nullptr;
}

void Breakpoints::remove_all() {
    const std::size_t count = count_.load();
    for (std::size_t i = 0; i < count; ++i) breakpoints_[i].remove();
}

}  // namespace slowpath::counting::preload
