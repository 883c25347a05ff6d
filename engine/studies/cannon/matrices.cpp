// SPDX-License-Identifier: Apache-2.0
#include "cannon/matrices.hpp"

#include <array>
#include <bit>
#include <numeric>

namespace slowpath::cannon {

namespace {

int wrapped(int index, int count) {
    return ((index % count) + count) % count;
}

}  // namespace

int Layout::steps() const {
    return std::lcm(rows, columns);
}

int Layout::rank_at(int at_row, int at_column) const {
    return wrapped(at_row, rows) * columns + wrapped(at_column, columns);
}

Layout square_as_possible(std::int64_t n, int ranks, int rank) {
    int rows = 1;
    for (int candidate = 1; candidate * candidate <= ranks; ++candidate)
        if (ranks % candidate == 0) rows = candidate;
    const int columns = ranks / rows;
    return {n, rows, columns, rank / columns, rank % columns};
}

Layout ring(std::int64_t n, int ranks, int rank) {
    return {n, 1, ranks, 0, rank};
}

namespace {

/// A mixer of 32 bits with good avalanche (Wellons, "lowbias32", 2018): it vectorises, unlike one of 64 bits.
inline std::uint32_t mixed(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

inline double real_of(std::uint32_t hash) {
    return static_cast<double>(static_cast<std::int32_t>(hash) >> 8) * 0x1p-23;
}

inline double integer_of(std::uint32_t hash) {
    // The upper 16 bits scaled to 0 .. 16: no division, which would not vectorise.
    return static_cast<double>(static_cast<std::int32_t>(((hash >> 16) * 17U) >> 16) - 8);
}

std::uint32_t column_key(std::uint32_t seed, Matrix which, std::int64_t column) {
    const auto low = static_cast<std::uint32_t>(column);
    return mixed(mixed(seed ^ (static_cast<std::uint32_t>(which) << 30)) + low) | 1U;
}

/// Rows below 2^32 of one column.
template <class Convert>
void fill_column(std::uint32_t key, std::int64_t first_row, std::int64_t rows, double* to, Convert convert) {
    const auto first = static_cast<std::uint32_t>(first_row);
    const auto count = static_cast<std::uint32_t>(rows);
    for (std::uint32_t i = 0; i < count; ++i) to[i] = convert(mixed((first + i) * 0x9e3779b9U + key));
}

}  // namespace

double Inputs::element(Matrix which, std::int64_t row, std::int64_t column) const {
    double value = 0;
    fill(which, row, 1, column, 1, &value);
    return value;
}

void Inputs::fill(Matrix which, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                  std::int64_t columns, double* to) const {
    for (std::int64_t column = first_column; column < first_column + columns; ++column, to += rows) {
        const std::uint32_t key = column_key(seed, which, column);
        if (numbers == Numbers::real)
            fill_column(key, first_row, rows, to, real_of);
        else
            fill_column(key, first_row, rows, to, integer_of);
    }
}

void Inputs::fill_a(const Layout& layout, int strip, double* to) const {
    const std::int64_t rows = layout.c_rows(), width = layout.panel();
    for (int k = strip; k < layout.steps(); k += layout.columns)
        fill(Matrix::a, layout.row * rows, rows, k * width, width, to + layout.a_offset(k));
}

void Inputs::fill_b(const Layout& layout, int strip, double* to) const {
    const std::int64_t columns = layout.c_columns(), height = layout.panel();
    for (int k = strip; k < layout.steps(); k += layout.rows)
        fill(Matrix::b, k * height, height, layout.column * columns, columns, to + layout.b_offset(k));
}

std::uint64_t checksum(std::span<const double> values) {
    constexpr std::uint64_t prime = 0x100000001b3;
    std::array<std::uint64_t, 4> lanes{0xcbf29ce484222325, 0x9ae16a3b2f90404f, 0xc949d7c7509e6557,
                                       0xff51afd7ed558ccd};
    for (std::size_t i = 0; i < values.size(); ++i)
        lanes[i % 4] = (lanes[i % 4] ^ std::bit_cast<std::uint64_t>(values[i])) * prime;
    std::uint64_t all = values.size();
    for (const std::uint64_t lane : lanes) all = (all ^ lane) * prime;
    return all;
}

}  // namespace slowpath::cannon
