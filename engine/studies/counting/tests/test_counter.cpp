// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "counting/counter.hpp"
#include "counting/hardware.hpp"
#include "known.hpp"
#include "tests/check.hpp"

using namespace slowpath;
using namespace slowpath::counting;

namespace {

using Numbers = std::vector<std::uint32_t>;

void counts_what_was_counted_by_hand() {
    char from[64] = "thirty-seven bytes, of which none is lost";
    char to[64] = "";
    CHECK(count([] { known_nothing(); }).stepped == Numbers{1});
    CHECK(count([] { known_ten(); }).stepped == Numbers{10});
    CHECK(count([] { known_loop(1000); }).stepped == Numbers{2002});
    CHECK(count([] { known_nested(); }).stepped == Numbers{14});
    CHECK(count([] { known_alias(); }).stepped == Numbers{14});
    CHECK(count([] { known_recursion(5); }).stepped == Numbers{23});
    const Count copied = count([&] { known_copy(to, from); });
    CHECK(copied.stepped == Numbers{39});
    CHECK(copied.retired == Numbers{3});
    CHECK(std::memcmp(to, from, 37) == 0);
    CHECK(to[37] == 0);
    const Count none = count([&] { known_copy_nothing(to, from); });
    CHECK(none.stepped == Numbers{3});
    CHECK(none.retired == Numbers{3});
}

void tells_calls_apart() {
    const Count counted = count([] {
        for (int i = 1; i <= 3; ++i) known_loop(i);
        known_ten();
    });
    CHECK((counted.stepped == Numbers{4, 6, 8, 10}));
    CHECK(counted.retired == counted.stepped);
    CHECK(counted.method == "trap flag");
    CHECK(counted.region > 4 + 6 + 8 + 10);
    CHECK(counted.region < 4 + 6 + 8 + 10 + 100);
    CHECK(counted.shares.size() == 2);
    CHECK(counted.shares[0].function == "known_loop");
    CHECK(counted.shares[0].instructions == 18);
    CHECK(counted.shares[0].library == "libslowpath_known.so");
    CHECK(counted.shares[1].function == "known_ten");
}

void an_empty_region_has_no_instructions() {
    const Count counted = count([] {});
    CHECK(counted.region == 0);
    CHECK(counted.stepped.empty());
    CHECK(counted.shares.empty());
    CHECK(count([] { asm volatile("nop\n\tnop\n\tnop"); }).region == 3);
}

void a_system_call_loses_no_instruction() {
    CHECK(count([] { known_system_call(); }).stepped == Numbers{4});
}

void blocking_all_signals_does_not_end_the_process() {
    sigset_t all, old;
    sigfillset(&all);
    const Count counted = count([&] {
        known_mask(SIG_SETMASK, &all, &old, 8);
        known_ten();
        known_mask(SIG_SETMASK, &old, nullptr, 8);
    });
    CHECK((counted.stepped == Numbers{4, 10, 4}));
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    CHECK(!sigismember(&now, SIGTRAP) && !sigismember(&now, SIGUSR1));
    count([&] { known_mask(SIG_SETMASK, &all, nullptr, 8); });
    pthread_sigmask(SIG_SETMASK, &old, &now);
    CHECK(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGTRAP));
}

void refuses_what_it_cannot_count() {
    CHECK(test::contains(test::thrown<EnvironmentFailure>([] { count([] { known_loop(10000); }, 1000); }),
                         "more than 1000 instructions"));
    CHECK(test::contains(test::thrown<EnvironmentFailure>([] { count([] { std::thread([] {}).join(); }); }),
                         "starts a thread"));
    CHECK(test::contains(
        test::thrown<std::runtime_error>([] { count([] { throw std::runtime_error("own"); }); }), "own"));
    CHECK(count([] { known_ten(); }).stepped == Numbers{10});
}

void says_why_it_is_unavailable() {
    CHECK(unavailable() == std::nullopt);
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &trap, nullptr);
    CHECK(test::contains(unavailable().value_or(""), "blocked"));
    CHECK(test::contains(test::thrown<EnvironmentFailure>([] { count([] {}); }), "blocked"));
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    const auto old = std::signal(SIGTRAP, [](int) {});
    CHECK(test::contains(unavailable().value_or(""), "something else"));
    std::signal(SIGTRAP, old);
    CHECK(unavailable() == std::nullopt);
}

void the_hardware_agrees_where_it_counts() {
    const auto times = [](int n) { return count_by_hardware([n] { known_loop(n); }); };
    const HardwareCount one = times(100000), two = times(200000);
    if (!one.instructions || !two.instructions) {
        CHECK(!one.reason.empty());
        std::printf("no hardware counter: %s\n", one.reason.c_str());
        return;
    }
    // Twice as long is 200 000 more; an interrupt in between adds some.
    const auto more = static_cast<double>(*two.instructions - *one.instructions);
    CHECK(more > 199800 && more < 200200);
}

}  // namespace

int main() {
    counts_what_was_counted_by_hand();
    tells_calls_apart();
    an_empty_region_has_no_instructions();
    a_system_call_loses_no_instruction();
    blocking_all_signals_does_not_end_the_process();
    refuses_what_it_cannot_count();
    says_why_it_is_unavailable();
    the_hardware_agrees_where_it_counts();
    return test::result();
}
