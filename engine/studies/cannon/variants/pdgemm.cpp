// SPDX-License-Identifier: Apache-2.0
// ScaLAPACK's pdgemm on the same matrices and with the same BLAS: not a style, but what a program would call
// instead. Its matrices are block-cyclic (ScaLAPACK Users' Guide, section 4.3.1); they are dealt out before
// and collected after, neither of them timed.
#include <algorithm>
#include <array>
#include <climits>
#include <vector>

#include "cannon/scalapack.hpp"
#include "cannon/variants/two_sided.hpp"
#include "core/clock.hpp"
#include "mpi/agree.hpp"

namespace slowpath::cannon {
namespace {

/// Blocks of A are m x k, of B k x n, of C m x n, as pdgemm wants them to match.
struct Blocking {
    int m, k, n;
};

constexpr std::array square_blocks{64, 128, 256};
constexpr int most_rounds = 3;
constexpr std::int64_t long_trial_ns = 1'000'000'000;

int checked_int(std::int64_t value) {
    return static_cast<int>(std::min<std::int64_t>(value, INT_MAX));
}

class Pdgemm : public TwoSided {
  public:
    explicit Pdgemm(Stage& stage)
        : TwoSided(stage),
          library_(Scalapack::loaded()),
          grid_(library_, stage.communicator, stage.layout.rows, stage.layout.columns),
          n_(checked_int(stage.layout.n)),
          b_stacked_(stage.layout.b_elements()) {
        const Layout& layout = stage.layout;
        home_ = {checked_int(layout.c_rows()), checked_int(layout.panel()), checked_int(layout.c_columns())};
        choose();
    }

    void filled() override {
        stack_b();
        const Dealt home(library_, grid_, stage_.layout, home_);
        library_.deal_out(n_, a(), home.of_a, a_->data(), dealt_->of_a, grid_.context());
        library_.deal_out(n_, b_stacked_.data(), home.of_b, b_->data(), dealt_->of_b, grid_.context());
    }
    void poison() override { fill_with_nan(c_->data(), c_->elements()); }

    /// No part within the total: the library multiplies and communicates in one call.
    void run(double*) override { multiply(); }

    void deliver(double* c) override {
        const Dealt home(library_, grid_, stage_.layout, home_);
        library_.deal_out(n_, c_->data(), dealt_->of_c, c, home.of_c, grid_.context());
    }
    std::string remark() const override {
        return "pdgemm of " + library_.file() + " in blocks of " + std::to_string(blocking_.m) + " x " +
               std::to_string(blocking_.n) + ", " + std::to_string(blocking_.k) + " of k";
    }

  private:
    /// How much of each matrix is here under a blocking, and its description.
    struct Dealt {
        Dealt(const Scalapack& library, const ProcessGrid& grid, const Layout& layout,
              const Blocking& blocks) {
            const int n = checked_int(layout.n);
            const auto rows = [&](int block) { return library.held(n, block, layout.row, layout.rows); };
            const auto columns = [&](int block) {
                return library.held(n, block, layout.column, layout.columns);
            };
            a_elements = std::int64_t{rows(blocks.m)} * columns(blocks.k);
            b_elements = std::int64_t{rows(blocks.k)} * columns(blocks.n);
            c_elements = std::int64_t{rows(blocks.m)} * columns(blocks.n);
            of_a = library.describe(n, blocks.m, blocks.k, grid.context(), rows(blocks.m));
            of_b = library.describe(n, blocks.k, blocks.n, grid.context(), rows(blocks.k));
            of_c = library.describe(n, blocks.m, blocks.n, grid.context(), rows(blocks.m));
        }
        std::int64_t a_elements, b_elements, c_elements;
        Descriptor of_a, of_b, of_c;
    };

    void take(const Blocking& blocking) {
        blocking_ = blocking;
        dealt_ = std::make_unique<Dealt>(library_, grid_, stage_.layout, blocking);
        a_ = std::make_unique<Memory>(dealt_->a_elements);
        b_ = std::make_unique<Memory>(dealt_->b_elements);
        c_ = std::make_unique<Memory>(dealt_->c_elements);
    }
    void multiply() {
        library_.multiply(n_, a_->data(), dealt_->of_a, b_->data(), dealt_->of_b, c_->data(), dealt_->of_c);
    }

    /// The fastest blocking is taken, as a user would; matrices of zeros take as long as any other.
    void choose() {
        std::vector<Blocking> candidates{home_};
        for (const int block : square_blocks)
            if (block < std::min({home_.m, home_.k, home_.n})) candidates.push_back({block, block, block});
        std::size_t best = 0;
        std::int64_t best_ns = INT64_MAX;
        for (std::size_t i = 0; candidates.size() > 1 && i < candidates.size(); ++i) {
            take(candidates[i]);
            if (const std::int64_t ns = shortest_ns(); ns < best_ns) best = i, best_ns = ns;
        }
        take(candidates[best]);
    }
    /// Of a few multiplications after a first one, over all ranks; the first one alone where it is long.
    std::int64_t shortest_ns() {
        std::int64_t shortest = once_ns();
        if (shortest > long_trial_ns) return shortest;
        shortest = INT64_MAX;
        for (int round = 0; round < most_rounds; ++round) shortest = std::min(shortest, once_ns());
        return shortest;
    }
    std::int64_t once_ns() {
        const MonotonicClock clock;
        mpi::check(MPI_Barrier(stage_.communicator), "MPI_Barrier");
        const std::int64_t begin_ns = clock.now_ns();
        multiply();
        const std::array mine{clock.now_ns() - begin_ns};
        return mpi::reduce(stage_.communicator, mine, MPI_MAX)[0];
    }

    /// Panels of B lie one after the other in a strip; ScaLAPACK wants them stacked in one column-major
    /// matrix.
    void stack_b() {
        const Layout& layout = stage_.layout;
        const std::int64_t height = layout.panel(), stacked = layout.n / layout.rows;
        for (std::int64_t first = 0; first < stacked; first += height)
            for (std::int64_t column = 0; column < layout.c_columns(); ++column)
                std::copy_n(b() + (first * layout.c_columns()) + column * height, height,
                            b_stacked_.data() + column * stacked + first);
    }

    const Scalapack& library_;
    ProcessGrid grid_;
    int n_;
    Memory b_stacked_;
    Blocking home_{};      ///< that of the strips as they are made: one block of C a rank
    Blocking blocking_{};  ///< that of what is multiplied
    std::unique_ptr<Dealt> dealt_;
    std::unique_ptr<Memory> a_, b_, c_;
};

std::optional<std::string> no_scalapack(const Stage& stage) {
    const Layout& layout = stage.layout;
    if (!stage.multiply.by_blas()) return "pdgemm multiplies by the BLAS; take kernel=blas";
    // Its indices are ints (2.2), those within a rank's part too.
    if (std::max({layout.a_elements(), layout.b_elements(), layout.c_elements()}) > INT_MAX)
        return "ScaLAPACK counts in 32 bits, and a rank's part of n=" + std::to_string(layout.n) +
               " is longer";
    try {
        Scalapack::loaded();
    } catch (const std::exception& error) {
        return error.what();
    }
    return std::nullopt;
}

}  // namespace

const VariantKind pdgemm{"pdgemm",
                         "a yardstick: ScaLAPACK's pdgemm, in its fastest blocking, with the same BLAS",
                         Placement::home,
                         true,
                         true,
                         no_scalapack,
                         make<Pdgemm>};

}  // namespace slowpath::cannon
