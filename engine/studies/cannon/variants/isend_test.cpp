// SPDX-License-Identifier: Apache-2.0
// Non-blocking, with MPI_Testall between pieces of the multiplication, for libraries that move data only
// inside calls.
#include "cannon/variants/isend.hpp"

namespace slowpath::cannon {
namespace {

class IsendTest : public Isend {
  public:
    using Isend::Isend;
    void run(double* c) override {
        const std::function<void()> poke = [this] { test(); };
        shift_steps(
            stage_, strips(), c, [this](int step) { start(step); }, [this](int step) { wait(step); }, &poke);
    }
    std::string remark() const override {
        if (stage_.layout.steps() == 1) return {};
        return "k of a step in " + std::to_string(stage_.multiply.pieces()) + " pieces of " +
               std::to_string(stage_.multiply.piece_columns()) + " columns, MPI_Testall between them";
    }
};

/// Without a cut there is no MPI_Testall, and it would be isend_wait under another name.
std::optional<std::string> one_column(const Stage& stage) {
    if (stage.layout.steps() == 1 || stage.layout.panel() > 1) return std::nullopt;
    return "each step multiplies 1 column of k, which can't be cut for an MPI_Testall; take n=" +
           std::to_string(2 * stage.layout.steps()) + " or more";
}

}  // namespace

const VariantKind isend_test{"isend_test",
                             "non-blocking, with MPI_Testall between pieces of the multiplication",
                             Placement::skewed,
                             true,
                             false,
                             one_column,
                             make<IsendTest>};

}  // namespace slowpath::cannon
