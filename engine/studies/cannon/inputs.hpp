// SPDX-License-Identifier: Apache-2.0
/// A and B, made in place: each element is a hash of its global index, so that every rank count multiplies
/// the same matrices and no rank ever holds more than its own strips.
#pragma once

#include <cstdint>
#include <span>

#include "cannon/layout.hpp"

namespace slowpath::cannon {

enum class Numbers {
    real,     ///< 24-bit fractions in [-1, 1)
    integer,  ///< integers in [-8, 8]: every sum stays below 2^53 up to n = 65536, so that any order of
              ///< summation and any fused operation give the same bits
};

enum class Matrix : std::uint32_t { a = 1, b = 2 };

struct Inputs {
    std::uint32_t seed = 1;
    Numbers numbers = Numbers::real;

    /// Element (row, column) of the whole matrix.
    double element(Matrix which, std::int64_t row, std::int64_t column) const;

    /// The strip of A whose class is `strip` for the rows of this rank.  @param to layout.a_elements().
    void fill_a(const Layout& layout, int strip, double* to) const;
    /// The strip of B whose class is `strip` for the columns of this rank.  @param to layout.b_elements().
    void fill_b(const Layout& layout, int strip, double* to) const;

    /// Some rows of some columns of a matrix, column-major without gaps.  @param to rows x columns.
    void fill(Matrix which, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
              std::int64_t columns, double* to) const;
};

/// Order matters: a moved or swapped block shows.  FNV-1a over the elements' bits, in four lanes.
std::uint64_t checksum(std::span<const double> values);

}  // namespace slowpath::cannon
