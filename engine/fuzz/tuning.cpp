// SPDX-License-Identifier: Apache-2.0
/// tuning.json of libslowpath-coll.so. Its names of mock-ups are those of a list here, so that no MPI is
/// linked.
#include <array>
#include <variant>

#include "fuzz/targets.hpp"
#include "replace/table.hpp"

namespace slowpath::mockups {

const Mockup* find(Collective collective, std::string_view name) {
    static constexpr std::array known{
        Mockup{"scatter+allgather", Collective::bcast, nullptr, nullptr},
        Mockup{"doubling", Collective::scan, nullptr, nullptr},
        Mockup{"reduce+bcast", Collective::allreduce, nullptr, nullptr},
    };
    for (const Mockup& mockup : known)
        if (mockup.of == collective && mockup.name == name) return &mockup;
    return nullptr;
}

}  // namespace slowpath::mockups

namespace slowpath::fuzz {

/// Each row names a mock-up and ranges that hold something; a refusal says why.
void read_tuning_table(Input input) {
    const std::string text = text_of(input);
    const auto found = replace::read_table(text);
    if (const auto* const wrong = std::get_if<std::string>(&found)) {
        if (wrong->empty()) throw Defect("refused without a reason");
        return;
    }
    const auto& table = std::get<replace::Table>(found);
    for (const replace::Row& row : table.rows) {
        if (row.mockup == nullptr) throw Defect("a row without a mock-up");
        for (const replace::Range& range : {row.ranks, row.bytes})
            if (range.from < 0 || !range.holds(range.to)) throw Defect("a range that holds nothing");
    }
    static_cast<void>(replace::names_library(table.mpi, text));
}

}  // namespace slowpath::fuzz
