// SPDX-License-Identifier: Apache-2.0
/// What stepping from outside must know of a processor: one struct for each.
#pragma once

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <array>
#include <cstdint>

#if defined(__aarch64__)
#include <asm/ptrace.h>
#else
#include "counting/instruction.hpp"
#endif

namespace slowpath::counting::ptrace {

#if defined(__x86_64__)

struct Processor {
    using Registers = user_regs_struct;
    static constexpr const char* name = "x86-64";
    static constexpr std::array<std::uint8_t, 1> breakpoint{0xcc};  // int3
    static constexpr std::uint64_t breakpoint_behind = 1;           // reported with the address behind it
    static constexpr std::size_t longest_instruction = 15;
    static constexpr std::uint64_t syscall_instruction_bytes = syscall_bytes;

    static std::uint64_t instruction(const Registers& registers) { return registers.rip; }
    static void set_instruction(Registers& registers, std::uint64_t address) { registers.rip = address; }
    static std::uint64_t stack(const Registers& registers) { return registers.rsp; }
    static bool is_repeated(const std::uint8_t* code) { return counting::is_repeated(code); }
    static bool is_syscall(const std::uint8_t* code) { return counting::is_syscall(code); }

    /// The call pushed its return address, the return takes it off (System V ABI).
    static constexpr bool return_address_on_stack = true;
    static std::uint64_t return_address(const Registers&) { return 0; }
};

#elif defined(__aarch64__)

// Not tested.  A pair of exclusive load and store never succeeds when it is stepped (Arm ARM, B2.9), so a
// library must use single atomic instructions; a call that hangs for that reason ends as one with too many
// instructions.
struct Processor {
    using Registers = user_pt_regs;
    static constexpr const char* name = "aarch64";
    static constexpr std::array<std::uint8_t, 4> breakpoint{0x00, 0x00, 0x20, 0xd4};  // brk #0
    static constexpr std::uint64_t breakpoint_behind = 0;
    static constexpr std::size_t longest_instruction = 4;
    static constexpr std::uint64_t syscall_instruction_bytes = 4;

    static std::uint64_t instruction(const Registers& registers) { return registers.pc; }
    static void set_instruction(Registers& registers, std::uint64_t address) { registers.pc = address; }
    static std::uint64_t stack(const Registers& registers) { return registers.sp; }
    static bool is_repeated(const std::uint8_t*) { return false; }
    static bool is_syscall(const std::uint8_t* code) {  // svc #0
        return code[0] == 0x01 && code[1] == 0x00 && code[2] == 0x00 && code[3] == 0xd4;
    }

    static constexpr bool return_address_on_stack = false;
    static std::uint64_t return_address(const Registers& registers) { return registers.regs[30]; }
};

#else
#error "slowpath-count-ptrace knows x86-64 and aarch64; add a struct Processor for this one"
#endif

}  // namespace slowpath::counting::ptrace
