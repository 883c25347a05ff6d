// SPDX-License-Identifier: Apache-2.0
/// What the counter must know of x86-64 instructions: which repeat themselves, and which enter the kernel.
#pragma once

#include <cstdint>

namespace slowpath::counting {

/// F2 or F3 before a string instruction (Intel SDM volume 2, REP/REPE/REPNE).  Each iteration is a step of
/// its own to a single-stepper, all of them together are one instruction to a hardware counter.
/// @param code First byte of an instruction; no byte behind its opcode is read.
inline bool is_repeated(const std::uint8_t* code) {
    bool prefixed = false;
    for (int i = 0; i < 15; ++i) {
        const std::uint8_t byte = code[i];
        const bool segment =
            byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65;
        const bool size_or_rex = byte == 0x66 || byte == 0x67 || (byte & 0xf0) == 0x40;
        if (byte == 0xf2 || byte == 0xf3) {
            prefixed = true;
        } else if (!segment && !size_or_rex) {
            const bool string = (byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf) ||
                                (byte >= 0x6c && byte <= 0x6f);
            return prefixed && string;
        }
    }
    return false;
}

inline bool is_syscall(const std::uint8_t* code) {
    return code[0] == 0x0f && code[1] == 0x05;
}

inline constexpr std::uint64_t syscall_bytes = 2;

/// Above it lies the vsyscall page, which may be executed but not read.
inline constexpr std::uint64_t end_of_user_space = std::uint64_t{1} << 47;

}  // namespace slowpath::counting
