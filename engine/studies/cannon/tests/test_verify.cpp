// SPDX-License-Identifier: Apache-2.0
// The check of the product: it takes the right one, and no wrong one that Cannon's algorithm could leave.
#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <limits>
#include <vector>

#include "cannon/verify.hpp"

namespace {

using namespace slowpath::cannon;

constexpr std::int64_t n = 48;
constexpr std::uint32_t seed = 11;

using Block = std::vector<double>;  // of C, column-major

/// @param without A panel of k that is left out; -1: none.
Block product(const Layout& layout, const Inputs& inputs, int without = -1) {
    Block c(static_cast<std::size_t>(layout.c_elements()));
    for (std::int64_t k = 0; k < n; ++k) {
        if (k / layout.panel() == without) continue;
        for (std::int64_t column = 0; column < layout.c_columns(); ++column) {
            const double b = inputs.element(Matrix::b, k, layout.column * layout.c_columns() + column);
            for (std::int64_t row = 0; row < layout.c_rows(); ++row)
                c[static_cast<std::size_t>(column * layout.c_rows() + row)] +=
                    inputs.element(Matrix::a, layout.row * layout.c_rows() + row, k) * b;
        }
    }
    return c;
}

/// Whether the check finds this C wrong; it must say so on every rank or on none.
bool found_wrong(const Layout& layout, const Inputs& inputs, const Block& c, std::uint32_t x_seed = seed) {
    const Verdict verdict = verify(MPI_COMM_WORLD, layout, inputs, x_seed, c.data());
    const int mine = verdict.wrong ? 1 : 0;
    int least = 0, most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(least, most);
    return mine == 1;
}

/// The right product with a fault on the last rank alone.
Block with_fault(const Layout& layout, const Block& right, const std::function<void(Block&)>& fault) {
    Block wrong = right;
    if (layout.rank_at(layout.row, layout.column) == layout.rows * layout.columns - 1) fault(wrong);
    return wrong;
}

void a_right_product_passes(const Layout& layout, const Inputs& inputs, const Block& right) {
    for (std::uint32_t x_seed = 0; x_seed < 6; ++x_seed)
        EXPECT_FALSE(found_wrong(layout, inputs, right, x_seed));
}

void wrong_products_do_not(const Layout& layout, const Inputs& inputs, const Block& right) {
    const bool whole_numbers = inputs.numbers == Numbers::integer;
    const auto wrong = [&](const std::function<void(Block&)>& fault) {
        return found_wrong(layout, inputs, with_fault(layout, right, fault));
    };
    EXPECT_TRUE(wrong([&](Block& c) { c.back() += whole_numbers ? 1 : 1e-8; }));
    EXPECT_TRUE(wrong([](Block& c) { c.front() = -c.front(); }));
    EXPECT_TRUE(wrong([](Block& c) { std::swap(c[0], c[1]); }));
    EXPECT_TRUE(wrong([](Block& c) { c[c.size() / 2] = std::numeric_limits<double>::quiet_NaN(); }));
    EXPECT_TRUE(wrong([](Block& c) { c.assign(c.size(), 0.0); }));
    if (!whole_numbers) {
        EXPECT_TRUE(wrong([](Block& c) {
            for (double& value : c) value = static_cast<float>(value);
        }));
    }
    for (int k = 0; k < layout.steps(); ++k)
        EXPECT_TRUE(wrong([&](Block& c) { c = product(layout, inputs, k); }));  // a step forgotten
}

/// x has 2049 values, so that hardly any x hides one wrong entry.
void hardly_any_x_hides_a_fault(const Layout& layout, const Inputs& inputs, const Block& right) {
    int missed = 0;
    for (std::uint32_t x_seed = 0; x_seed < 12; ++x_seed) {
        const auto first_of_a_column = static_cast<std::size_t>(x_seed * layout.c_rows());
        const Block wrong =
            with_fault(layout, right, [&](Block& c) { c[first_of_a_column % c.size()] += 1; });
        missed += found_wrong(layout, inputs, wrong, x_seed) ? 0 : 1;
    }
    EXPECT_LE(missed, 1);
}

void other_inputs_are_found(const Layout& layout, const Inputs& inputs, const Block&) {
    Inputs other = inputs;
    ++other.seed;
    EXPECT_TRUE(found_wrong(layout, inputs, product(layout, other)));
}

/// On both kinds of grid, with both kinds of numbers.
void for_each_product(void (*judge)(const Layout&, const Inputs&, const Block&)) {
    int size = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const Layout& layout : {square_as_possible(n, size, rank), ring(n, size, rank)})
        for (const Numbers numbers : {Numbers::real, Numbers::integer}) {
            const Inputs inputs{3, numbers};
            judge(layout, inputs, product(layout, inputs));
        }
}

TEST(CannonVerify, ARightProductPasses) {
    for_each_product(a_right_product_passes);
}

TEST(CannonVerify, WrongProductsDoNot) {
    for_each_product(wrong_products_do_not);
}

TEST(CannonVerify, HardlyAnyXHidesAFault) {
    for_each_product(hardly_any_x_hides_a_fault);
}

TEST(CannonVerify, OtherInputsAreFound) {
    for_each_product(other_inputs_are_found);
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    MPI_Init(&argc, &argv);
    const int mine = RUN_ALL_TESTS();
    int worst = 0;
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return worst;
}
