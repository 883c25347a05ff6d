// SPDX-License-Identifier: Apache-2.0
/// The matrices: which rank holds which part of A, B and C, and what is in A and B.
#pragma once

#include <cstdint>
#include <span>

namespace slowpath::cannon {

// Which rank holds which part of A, B and C: Cannon's algorithm on any R x C grid of ranks.
//
// L = lcm(R, C) steps; k, the inner dimension, is cut into L panels of width n / L.  Rank (i, j) multiplies
// with panel (i + j + s) mod L in step s.  A strip of A holds the panels k with k mod C = its class, a strip
// of B those with k mod R = its class; each step moves strips of A one rank left and strips of B one rank
// up, so that on a square grid strips are single blocks (Cannon 1969) and on a ring, R = 1, only A moves.
// Generalised to R x C as in Lee, Robertson and Fortes, ICS 1997.  All panels are contiguous and
// column-major.

struct Layout {
    std::int64_t n = 0;  ///< order of the matrices; a multiple of R, C and L
    int rows = 1;        ///< R
    int columns = 1;     ///< C
    int row = 0;         ///< i of this rank
    int column = 0;      ///< j of this rank

    int steps() const;                                  ///< L
    std::int64_t panel() const { return n / steps(); }  ///< width of a panel
    std::int64_t c_rows() const { return n / rows; }    ///< of this rank's block of C, and of a panel of A
    std::int64_t c_columns() const {
        return n / columns;
    }  ///< of this rank's block of C, and of a panel of B

    std::int64_t a_elements() const { return c_rows() * (n / columns); }  ///< of a strip of A
    std::int64_t b_elements() const { return (n / rows) * c_columns(); }  ///< of a strip of B
    std::int64_t c_elements() const { return c_rows() * c_columns(); }

    bool a_moves() const { return columns > 1; }
    bool b_moves() const { return rows > 1; }

    /// Rank in row-major order of the grid; row and column wrap around.
    int rank_at(int at_row, int at_column) const;
    int left() const { return rank_at(row, column - 1); }
    int right() const { return rank_at(row, column + 1); }
    int up() const { return rank_at(row - 1, column); }
    int down() const { return rank_at(row + 1, column); }

    int k_of_step(int step) const { return (row + column + step) % steps(); }
    /// First element of panel k within the strip of its class.
    std::int64_t a_offset(int k) const { return (k / columns) * panel() * c_rows(); }
    std::int64_t b_offset(int k) const { return (k / rows) * panel() * c_columns(); }
    /// Owner of panel k before any skew: where its strip is at home.
    int a_home(int k) const { return rank_at(row, k % columns); }
    int b_home(int k) const { return rank_at(k % rows, column); }
};

/// The grid R x C with R <= C, R C = ranks and R as large as can be: q x q for squares, 1 x P for primes.
Layout square_as_possible(std::int64_t n, int ranks, int rank);
/// 1 x P: B stays, strips of A go round.
Layout ring(std::int64_t n, int ranks, int rank);

// A and B, made in place: each element is a hash of its global index, so that every rank count multiplies
// the same matrices and no rank ever holds more than its own strips.

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
