// SPDX-License-Identifier: Apache-2.0
/// What the program does with signals, as far as it would take SIGTRAP from us: a trap that is blocked or has
/// lost its handler ends the process.
#include "counting/preload/signals.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "counting/preload/kernel.hpp"
#include "counting/preload/watch.hpp"

#define EXPORTED extern "C" [[gnu::visibility("default")]]

namespace slowpath::counting::preload {
namespace {

constinit bool handling = false;

template <class Function>
Function* original(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

using Sigaction = int(int, const struct sigaction*, struct sigaction*);
using Mask = int(int, const sigset_t*, sigset_t*);

Sigaction* real_sigaction() {
    static constinit Sigaction* known = nullptr;
    if (known == nullptr) known = original<Sigaction>("sigaction");
    return known;
}

void handle(int, siginfo_t* info, void* context) {
    SignalContext at(context);
    watch().on_trap(*info, at);
}

int change_mask(Mask* real, int how, const sigset_t* set, sigset_t* old) {
    if (!handling || set == nullptr || how == SIG_UNBLOCK) return real(how, set, old);
    sigset_t without = *set;
    sigdelset(&without, SIGTRAP);
    return real(how, &without, old);
}

bool is_handler(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 ||
           (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

}  // namespace

bool handle_traps() {
    struct sigaction action {};
    if (real_sigaction() == nullptr) return false;
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    if (real_sigaction()(SIGTRAP, &action, nullptr) != 0) return false;
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    handling = true;
    return true;
}

void trap_of_the_program(siginfo_t& info, SignalContext& context) {
    // The kernel's form of the default action; the C library's function may not be safe here.
    const std::uint64_t default_action[4] = {};
    kernel(SYS_rt_sigaction, SIGTRAP, word(default_action), 0, 8);
    if (info.si_code == SI_KERNEL) {
        context.set_instruction(context.instruction() - 1);  // its int3 once more
    } else {
        kernel(SYS_tgkill, static_cast<std::uint64_t>(process_id()), static_cast<std::uint64_t>(thread_id()),
               SIGTRAP);
    }
}

}  // namespace slowpath::counting::preload

using namespace slowpath::counting::preload;

EXPORTED int sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
    if (!handling || action == nullptr) return real_sigaction()(signal, action, old);
    if (signal == SIGTRAP) {
        // To ignore or reset it, as launchers do before they start a program, does no harm to anyone.
        if (!is_handler(*action)) {
            if (old != nullptr) *old = {};
            return 0;
        }
        watch().give_way();
        handling = false;
        return real_sigaction()(signal, action, old);
    }
    struct sigaction without = *action;
    sigdelset(&without.sa_mask, SIGTRAP);
    return real_sigaction()(signal, &without, old);
}

EXPORTED sighandler_t signal(int number, sighandler_t handler) {
    struct sigaction action {
    }, old{};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    return sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

EXPORTED int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
    static constinit Mask* real = nullptr;
    if (real == nullptr) real = original<Mask>("sigprocmask");
    return change_mask(real, how, set, old);
}

EXPORTED int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
    static constinit Mask* real = nullptr;
    if (real == nullptr) real = original<Mask>("pthread_sigmask");
    return change_mask(real, how, set, old);
}
