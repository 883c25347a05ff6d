// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "plant/allocations.hpp"
#include "plant/law.hpp"
#include "tests/check.hpp"

using namespace slowpath::plant;

namespace {

void words_are_read() {
    Law law;
    CHECK(parse("pages cost_s=2.1e-6 phase=every side=both", law) == nullptr);
    CHECK(law.kind == Kind::pages && law.cost_s == 2.1e-6 && law.every && law.side == Side::both);
    CHECK(parse("gate n=5 cost_s=1e-5", law) == nullptr);
    CHECK(law.kind == Kind::gate && law.n == 5 && !law.every && law.side == Side::send);
    CHECK(parse("small_pages", law) == nullptr);
}

void what_is_wrong_is_said() {
    Law law;
    for (const char* text :
         {"", "paging cost_s=1", "pages", "gate cost_s=1e-6", "pages cost_s=-1", "pages cost_s=1s",
          "pages cost_s=1 phase=late", "pages cost_s=1 side=left", "pages cost=1"})
        CHECK(parse(text, law) != nullptr);
}

void the_largest_page_that_divides_a_length_counts() {
    constexpr std::uint64_t mebibyte = 1024 * 1024;
    CHECK(page_of(2 * mebibyte) == 2 * mebibyte);
    CHECK(page_of(2 * mebibyte + 1) == 4096);
    CHECK(page_of(2 * mebibyte - 4095) == 2 * mebibyte);
    CHECK(page_of(3 * mebibyte) == 64 * 1024);
    CHECK(page_of(64 * 1024 + 4096) == 4096);
}

void uses_are_counted_by_mapping_and_call() {
    static char memory[3][4096];
    for (auto& one : memory) note_mapping(one, sizeof one);
    CHECK(use_mapping(memory[0] + 7, Call::send).earlier == 0);
    CHECK(use_mapping(memory[0], Call::receive).earlier == 0);
    CHECK(use_mapping(memory[1], Call::send).newer == 1);
    CHECK(use_mapping(memory[2], Call::send).earlier == 0);
    const Use again = use_mapping(memory[0], Call::send);
    CHECK(again.known && again.bytes == 4096 && again.earlier == 1 && again.newer == 2);
    forget_mappings(memory[0], sizeof memory[0]);
    CHECK(!use_mapping(memory[0], Call::send).known);
    CHECK(use_mapping(memory[1], Call::send).newer == 1);
}

}  // namespace

int main() {
    words_are_read();
    what_is_wrong_is_said();
    the_largest_page_that_divides_a_length_counts();
    uses_are_counted_by_mapping_and_call();
    return slowpath::test::result();
}
