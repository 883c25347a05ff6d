// SPDX-License-Identifier: Apache-2.0
#include "counting/preload/watch.hpp"

#include <link.h>

#include "counting/preload/kernel.hpp"
#include "counting/preload/settings.hpp"
#include "counting/preload/symbols.hpp"

namespace slowpath::counting::preload {
namespace {

constinit Watch the_watch;

constexpr const char* left_by_jump_reason = "it was left by a jump: longjmp or an exception";
constexpr const char* starts_another_reason = "it starts a thread or process, which can't be stepped through";

// Of the library's own static part, which is there from the thread's start: nothing is allocated in a
// handler.
[[gnu::tls_model("initial-exec")]] constinit thread_local Thread* this_thread = nullptr;

Thread* thread() {
    if (this_thread == nullptr) this_thread = static_cast<Thread*>(take_pages(sizeof(Thread)));
    return this_thread;
}

/// On the stack that the call began on, not on one that a library of light threads switched to.
bool near_return(const Thread& now, const SignalContext& context) {
    constexpr std::uint64_t near_bytes = 1 << 20;
    const std::uint64_t stack = context.stack();
    return stack < now.stack_at_return ? now.stack_at_return - stack < near_bytes
                                       : stack - now.stack_at_return < near_bytes;
}

/// A function of nothing but a return, with or without the mark for indirect branches.
bool is_empty_function(std::uint64_t address) {
    const auto* code = reinterpret_cast<const std::uint8_t*>(address);
    if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa) code += 4;
    return code[0] == 0xc3 || (code[0] == 0xf3 && code[1] == 0xc3);
}

std::uint64_t value_at(std::uint64_t address) {
    return *reinterpret_cast<const std::uint64_t*>(address);
}

}  // namespace

Watch& watch() {
    return the_watch;
}

void Watch::start() {
    active_ = true;
    look_for_function();
    if (calls_ < settings().skip + settings().calls) watch_for_libraries();
}

/// The linker calls an empty function after each change, for debuggers (gdb's solib-svr4, sysdeps' link.h,
/// r_brk).
void Watch::watch_for_libraries() {
    const std::uint64_t address = _r_debug.r_brk;
    if (address == 0 || !is_empty_function(address)) return;
    libraries_changed_ = address;
    breakpoints_.place(address);
}

void Watch::look_for_function() {
    bool is_program = true;
    for (const link_map* library = _r_debug.r_map; library != nullptr; library = library->l_next) {
        look_in(*library, is_program);
        is_program = false;
    }
}

void Watch::look_in(const link_map& library, bool is_program) {
    Definition found = find_exported(library, settings().function);
    if (found.address == 0 && is_program)
        found = find_in_program("/proc/self/exe", library.l_addr, settings().function);
    if (found.address == 0 || breakpoints_.at(found.address) != nullptr) return;
    const char* const name = is_program ? "the program" : library.l_name;
    const Lock lock(recording_);
    if (!record_.begun()) record_.begin();
    record_.forget_mappings();
    if (found.chosen_at_load)
        return record_.uncountable(name,
                                   "it is one of several, chosen when the library is loaded (STT_GNU_IFUNC)");
    if (breakpoints_.place(found.address) == nullptr)
        return record_.uncountable(
            name, "no breakpoint can be set: the kernel forbids this process to change its code");
    record_.found(name);
    found_ = true;
}

void Watch::finish() {
    if (!active_ || !found_) return;
    breakpoints_.remove_all();
    const Lock lock(recording_);
    if (record_.begun()) record_.end(calls_);
}

void Watch::give_way() {
    if (!active_.exchange(false)) return;
    breakpoints_.remove_all();
    if (!found_) return;
    const Lock lock(recording_);
    if (!record_.begun()) record_.begin();
    record_.uncountable(nullptr, "the program handles SIGTRAP itself");
}

/// A forked child has the parent's breakpoints, but counts for itself.
void Watch::be_sure_to_record() {
    const Lock lock(recording_);
    if (record_.begun()) return;
    calls_ = 0;
    record_.begin();
}

void Watch::on_trap(siginfo_t& info, SignalContext& context) {
    // int3 is reported with the address behind it.
    Breakpoint* const breakpoint =
        info.si_code == SI_KERNEL ? breakpoints_.at(context.instruction() - 1) : nullptr;
    if (breakpoint != nullptr) {
        context.set_instruction(breakpoint->address());
        on_breakpoint(*breakpoint, context);
    } else if (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT) {
        if (this_thread != nullptr) return on_step(*this_thread, context);
        context.stop_stepping();  // a thread that inherited the flag
    } else {
        trap_of_the_program(info, context);
    }
}

void Watch::on_breakpoint(Breakpoint& breakpoint, SignalContext& context) {
    if (breakpoint.address() == libraries_changed_) return on_libraries_changed(context);
    Thread* const now = thread();
    if (now == nullptr || !active_) return breakpoint.remove();
    // Another thread put the breakpoint back before this one's first instruction: the same call still.
    if (now->lifted != nullptr) return step_over(*now, breakpoint, context);
    // Where the stack is as high as before the call that is being counted, that one was left without a
    // return.
    if (now->inside && context.stack() + sizeof(std::uint64_t) >= now->stack_at_return &&
        near_return(*now, context))
        end_call(*now, context, left_by_jump_reason);
    if (now->inside) return step_over(*now, breakpoint, context);  // the function calls itself
    be_sure_to_record();
    const std::uint64_t number = ++calls_;
    const std::uint64_t last = settings().skip + settings().calls;
    if (number >= last) breakpoints_.remove_all();
    if (number > last) return;
    if (number <= settings().skip) return step_over(*now, breakpoint, context);
    begin_call(*now, breakpoint, context, number);
}

void Watch::step_over(Thread& now, Breakpoint& breakpoint, SignalContext& context) {
    breakpoint.lift();
    now.lifted = &breakpoint;
    context.step();
}

void Watch::begin_call(Thread& now, Breakpoint& breakpoint, SignalContext& context, std::uint64_t number) {
    now.inside = true;
    now.number = number;
    now.return_address = value_at(context.stack());
    now.stack_at_return = context.stack() + sizeof(std::uint64_t);
    now.stepper.reset();
    now.counted.clear();
    const auto note = [&now](std::uint64_t address, bool, bool next) { now.counted.add(address, next); };
    if (now.stepper.next(context, note) == Stepper::State::refused)
        end_call(now, context, starts_another_reason);
    step_over(now, breakpoint, context);
}

void Watch::on_step(Thread& now, SignalContext& context) {
    if (now.lifted != nullptr) {
        now.lifted->put_back();
        now.lifted = nullptr;
    }
    if (!now.inside) return context.stop_stepping();
    const auto note = [&now](std::uint64_t address, bool, bool next) { now.counted.add(address, next); };
    now.stepper.settle(context, note);
    if (context.instruction() == now.return_address && context.stack() == now.stack_at_return)
        return end_call(now, context, nullptr);
    if (context.stack() > now.stack_at_return && near_return(now, context))
        return end_call(now, context, left_by_jump_reason);
    if (now.counted.stepped() >= settings().most)
        return end_call(
            now, context,
            "it has more instructions than SLOWPATH_COUNT_MOST allows: does it wait for a message?");
    if (now.stepper.next(context, note) == Stepper::State::refused)
        end_call(now, context, starts_another_reason);
}

void Watch::end_call(Thread& now, SignalContext& context, const char* reason) {
    context.stop_stepping();
    now.inside = false;
    const Lock lock(recording_);
    if (reason == nullptr) {
        record_.call(now.number, now.counted);
    } else {
        record_.call_without_count(now.number, reason);
    }
}

/// In place of the empty function: back to its caller.
void Watch::on_libraries_changed(SignalContext& context) {
    context.set_instruction(value_at(context.stack()));
    context.set_stack(context.stack() + sizeof(std::uint64_t));
    if (_r_debug.r_state == r_debug::RT_CONSISTENT && active_) {
        {
            const Lock lock(recording_);
            record_.forget_mappings();
        }
        look_for_function();
    }
    if (this_thread != nullptr && this_thread->inside) on_step(*this_thread, context);
}

}  // namespace slowpath::counting::preload
