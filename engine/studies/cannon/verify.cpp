// SPDX-License-Identifier: Apache-2.0
#include "cannon/verify.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "mpi/session.hpp"

namespace slowpath::cannon {
namespace {

using Vector = std::vector<double>;

/// Sums of the ranks' parts, and the sums of their magnitudes.
struct Product {
    Vector value;
    Vector magnitude;
    explicit Product(std::int64_t n)
        : value(static_cast<std::size_t>(n)), magnitude(static_cast<std::size_t>(n)) {}

    void add(std::int64_t row, double element, double factor, double factor_magnitude) {
        value[static_cast<std::size_t>(row)] += element * factor;
        magnitude[static_cast<std::size_t>(row)] += std::fabs(element) * factor_magnitude;
    }
    void sum(MPI_Comm communicator) {
        for (Vector* const part : {&value, &magnitude})
            mpi::check(MPI_Allreduce(MPI_IN_PLACE, part->data(), static_cast<int>(part->size()), MPI_DOUBLE,
                                     MPI_SUM, communicator),
                       "MPI_Allreduce");
    }
};

/// Integers in [-1024, 1024].
Vector random_vector(std::int64_t n, std::uint32_t seed) {
    Inputs source{seed, Numbers::real};
    Vector x(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
        x[static_cast<std::size_t>(i)] = std::floor(source.element(Matrix::a, i, 0) * 1024.5 + 0.5);
    return x;
}

/// to += M x for the columns [first_column, first_column + columns) and rows from first_row of a column-major
/// block.
void multiply_block(const double* block, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                    std::int64_t columns, const Vector& x, const Vector& x_magnitude, Product& to) {
    for (std::int64_t column = 0; column < columns; ++column) {
        const auto from = static_cast<std::size_t>(first_column + column);
        for (std::int64_t row = 0; row < rows; ++row)
            to.add(first_row + row, block[column * rows + row], x[from], x_magnitude[from]);
    }
}

Vector magnitudes(const Vector& values) {
    Vector found(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) found[i] = std::fabs(values[i]);
    return found;
}

/// A (B x) and |A| (|B| |x|).
Product expected(MPI_Comm communicator, const Layout& layout, const Inputs& inputs, const Vector& x) {
    Vector strip(static_cast<std::size_t>(std::max(layout.a_elements(), layout.b_elements())));
    const std::int64_t panel = layout.panel();
    Product bx(layout.n), y(layout.n);
    inputs.fill_b(layout, layout.row, strip.data());
    for (int k = layout.row; k < layout.steps(); k += layout.rows)
        multiply_block(strip.data() + layout.b_offset(k), k * panel, panel,
                       layout.column * layout.c_columns(), layout.c_columns(), x, magnitudes(x), bx);
    bx.sum(communicator);
    inputs.fill_a(layout, layout.column, strip.data());
    for (int k = layout.column; k < layout.steps(); k += layout.columns)
        multiply_block(strip.data() + layout.a_offset(k), layout.row * layout.c_rows(), layout.c_rows(),
                       k * panel, panel, bx.value, bx.magnitude, y);
    y.sum(communicator);
    return y;
}

}  // namespace

Verdict verify(MPI_Comm communicator, const Layout& layout, const Inputs& inputs, std::uint32_t seed,
               const double* c) {
    const Vector x = random_vector(layout.n, seed);
    const Product y = expected(communicator, layout, inputs, x);
    Product z(layout.n);
    multiply_block(c, layout.row * layout.c_rows(), layout.c_rows(), layout.column * layout.c_columns(),
                   layout.c_columns(), x, magnitudes(x), z);
    z.sum(communicator);
    const double nu = static_cast<double>(layout.n) * std::numeric_limits<double>::epsilon() / 2;
    const double gamma = inputs.numbers == Numbers::integer ? 0.0 : 4 * nu / (1 - nu);
    Verdict verdict;
    for (std::size_t row = 0; row < z.value.size(); ++row) {
        const double off = std::fabs(z.value[row] - y.value[row]), bound = gamma * y.magnitude[row];
        if (off > 0) verdict.residual_ratio = std::max(verdict.residual_ratio, bound > 0 ? off / bound : 1.0);
        if (off <= bound || verdict.wrong) continue;  // NaN is not <=, so a poisoned element is wrong
        verdict.wrong = "wrong product: row " + std::to_string(row) + " of C x differs from A (B x) by " +
                        std::to_string(off) + ", allowed are " + std::to_string(bound);
    }
    return verdict;
}

}  // namespace slowpath::cannon
