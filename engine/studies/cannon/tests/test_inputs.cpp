// SPDX-License-Identifier: Apache-2.0
// The same matrices for every rank count, from numbers that are what the documentation states.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "cannon/matrices.hpp"

namespace {

using namespace slowpath::cannon;

constexpr std::int64_t n = 144;  // a multiple of the steps of all grids below

using Whole = std::vector<double>;  // column-major

Whole by_element(const Inputs& inputs, Matrix which) {
    Whole whole(n * n);
    for (std::int64_t column = 0; column < n; ++column)
        for (std::int64_t row = 0; row < n; ++row)
            whole[static_cast<std::size_t>(column * n + row)] = inputs.element(which, row, column);
    return whole;
}

void place(Whole& whole, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
           std::int64_t columns, const double* block) {
    for (std::int64_t column = 0; column < columns; ++column)
        for (std::int64_t row = 0; row < rows; ++row)
            whole[static_cast<std::size_t>((first_column + column) * n + first_row + row)] =
                block[column * rows + row];
}

/// Put together from the strips of all ranks; what no rank has stays NaN.
Whole by_strips(const Inputs& inputs, Matrix which, int ranks, bool as_ring) {
    Whole whole(n * n, std::numeric_limits<double>::quiet_NaN());
    for (int rank = 0; rank < ranks; ++rank) {
        const Layout layout = as_ring ? ring(n, ranks, rank) : square_as_possible(n, ranks, rank);
        const bool of_a = which == Matrix::a;
        const int strip = of_a ? layout.column : layout.row, every = of_a ? layout.columns : layout.rows;
        Whole strips(static_cast<std::size_t>(of_a ? layout.a_elements() : layout.b_elements()));
        if (of_a)
            inputs.fill_a(layout, strip, strips.data());
        else
            inputs.fill_b(layout, strip, strips.data());
        for (int k = strip; k < layout.steps(); k += every) {
            const std::int64_t width = layout.panel();
            if (of_a)
                place(whole, layout.row * layout.c_rows(), layout.c_rows(), k * width, width,
                      strips.data() + layout.a_offset(k));
            else
                place(whole, k * width, width, layout.column * layout.c_columns(), layout.c_columns(),
                      strips.data() + layout.b_offset(k));
        }
    }
    return whole;
}

void every_rank_count_multiplies_the_same(const Inputs& inputs) {
    for (const Matrix which : {Matrix::a, Matrix::b}) {
        const Whole expected = by_element(inputs, which);
        for (const int ranks : {1, 2, 3, 4, 6, 8, 9, 12, 16})
            for (const bool as_ring : {false, true})
                EXPECT_EQ(by_strips(inputs, which, ranks, as_ring), expected);
    }
}

TEST(CannonInputs, IntegersAreSmallAndAllThere) {
    std::set<double> seen;
    for (const double value : by_element({5, Numbers::integer}, Matrix::a)) seen.insert(value);
    EXPECT_EQ(seen.size(), 17);
    EXPECT_TRUE(*seen.begin() == -8 && *seen.rbegin() == 8);
    for (const double value : seen) EXPECT_EQ(value, std::floor(value));
}

TEST(CannonInputs, RealsFillTheirRange) {
    double sum = 0, low = 1, high = -1;
    for (const double value : by_element({5, Numbers::real}, Matrix::b)) {
        sum += value;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    EXPECT_TRUE(low >= -1 && low < -0.95);
    EXPECT_TRUE(high < 1 && high > 0.95);
    EXPECT_LT(std::fabs(sum) / (n * n), 0.05);  // four standard deviations of a uniform mean
}

TEST(CannonInputs, SeedAndMatrixMatter) {
    const Inputs one{1, Numbers::real}, other{2, Numbers::real};
    EXPECT_NE(by_element(one, Matrix::a), by_element(other, Matrix::a));
    EXPECT_NE(by_element(one, Matrix::a), by_element(one, Matrix::b));
}

TEST(CannonInputs, ChecksumsNotice) {
    const Whole right = by_element({3, Numbers::real}, Matrix::a);
    const std::uint64_t expected = checksum(right);
    EXPECT_EQ(checksum(right), expected);
    Whole wrong = right;
    std::swap(wrong[0], wrong[4]);  // of one lane
    EXPECT_NE(checksum(wrong), expected);
    wrong = right;
    wrong.back() = std::nextafter(wrong.back(), 2);
    EXPECT_NE(checksum(wrong), expected);
    wrong = right;
    wrong.pop_back();
    EXPECT_NE(checksum(wrong), expected);
    EXPECT_NE(checksum(Whole{0.0}), checksum(Whole{-0.0}));
}

TEST(CannonInputs, EveryRankCountMultipliesTheSame) {
    every_rank_count_multiplies_the_same({7, Numbers::real});
    every_rank_count_multiplies_the_same({7, Numbers::integer});
}

}  // namespace
