// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/freivalds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cannon/gpu/upload.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon::gpu {
namespace {

using Vector = std::vector<double>;

Vector zeros(std::int64_t n) {
    return Vector(static_cast<std::size_t>(n));
}

/// Integers in [-1024, 1024].
Vector random_vector(std::int64_t n, std::uint32_t seed) {
    const Inputs source{seed, Numbers::real};
    Vector x = zeros(n);
    source.fill(Matrix::a, 0, n, 0, 1, x.data());
    for (double& element : x) element = std::floor(element * 1024.5 + 0.5);
    return x;
}

void sum_over_ranks(MPI_Comm communicator, Vector& vector) {
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, vector.data(), static_cast<int>(vector.size()), MPI_DOUBLE,
                             MPI_SUM, communicator),
               "MPI_Allreduce");
}

template <class Number>
void add_column(const Number* __restrict column, std::int64_t rows, double factor, double* __restrict to) {
    for (std::int64_t row = 0; row < rows; ++row) to[row] += static_cast<double>(column[row]) * factor;
}

void add_column_magnitudes(const double* __restrict column, std::int64_t rows, double factor,
                           double* __restrict to) {
    for (std::int64_t row = 0; row < rows; ++row) to[row] += std::fabs(column[row]) * factor;
}

/// value += M x and magnitude += |M| |x| for some columns of M.
void multiply(const Columns& chunk, const Vector& x, const Vector& x_magnitude, Vector& value,
              Vector& magnitude) {
    for (std::int64_t i = 0; i < chunk.columns; ++i) {
        const auto from = static_cast<std::size_t>(chunk.first_column + i);
        const double* const column = chunk.elements + i * chunk.rows;
        add_column(column, chunk.rows, x[from], value.data() + chunk.first_row);
        add_column_magnitudes(column, chunk.rows, x_magnitude[from], magnitude.data() + chunk.first_row);
    }
}

Vector magnitudes(Vector values) {
    for (double& value : values) value = std::fabs(value);
    return values;
}

/// value += C x for the columns that `staged` holds.
template <class Number>
void multiply_staged(const Number* staged, std::int64_t rows, std::int64_t columns, const double* x,
                     double* value) {
    for (std::int64_t i = 0; i < columns; ++i) add_column(staged + i * rows, rows, x[i], value);
}

}  // namespace

Freivalds::Freivalds(MPI_Comm communicator, const Layout& layout, const Inputs& inputs, std::uint32_t seed)
    : communicator_(communicator),
      layout_(layout),
      x_(random_vector(layout.n, seed)),
      y_(zeros(layout.n)),
      bound_(zeros(layout.n)) {
    Vector bx = zeros(layout.n), bx_magnitude = zeros(layout.n);
    const Vector x_magnitude = magnitudes(x_);
    each_chunk_of_b(inputs, layout, layout.row,
                    [&](const Columns& chunk) { multiply(chunk, x_, x_magnitude, bx, bx_magnitude); });
    sum_over_ranks(communicator, bx);
    sum_over_ranks(communicator, bx_magnitude);
    each_chunk_of_a(inputs, layout, layout.column,
                    [&](const Columns& chunk) { multiply(chunk, bx, bx_magnitude, y_, bound_); });
    sum_over_ranks(communicator, y_);
    sum_over_ranks(communicator, bound_);
    const double nu = static_cast<double>(layout.n) * std::numeric_limits<double>::epsilon() / 2;
    const double gamma = inputs.numbers == Numbers::integer ? 0.0 : 4 * nu / (1 - nu);
    for (double& bound : bound_) bound *= gamma;
}

std::optional<std::string> Freivalds::wrong(const Cuda& cuda, Element element, const DeviceMemory& c,
                                            const Staging& staging) const {
    const std::int64_t rows = layout_.c_rows(), columns = layout_.c_columns();
    const std::int64_t column_bytes = rows * output_bytes(element);
    const std::int64_t most =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(staging.bytes()) / column_bytes);
    Vector z = zeros(layout_.n);
    double* const value = z.data() + layout_.row * rows;
    for (std::int64_t done = 0; done < columns; done += most) {
        const std::int64_t now = std::min(most, columns - done);
        const auto bytes = static_cast<std::size_t>(now * column_bytes);
        const CudaDevicePointer from = c.get() + static_cast<CudaDevicePointer>(done * column_bytes);
        cuda.check(cuda.driver().call().cuMemcpyDtoH_v2(staging.get(), from, bytes), "cuMemcpyDtoH", bytes);
        const double* const x = x_.data() + layout_.column * columns + done;
        if (element == Element::float64)
            multiply_staged(static_cast<const double*>(staging.get()), rows, now, x, value);
        else
            multiply_staged(static_cast<const float*>(staging.get()), rows, now, x, value);
    }
    sum_over_ranks(communicator_, z);
    for (std::size_t row = 0; row < z.size(); ++row) {
        const double off = std::fabs(z[row] - y_[row]);
        if (off <= bound_[row]) continue;  // NaN is not <=, so a poisoned element is wrong
        return "wrong product: row " + std::to_string(row) + " of C x differs from A (B x) by " +
               std::to_string(off) + ", allowed are " + std::to_string(bound_[row]);
    }
    return std::nullopt;
}

}  // namespace slowpath::cannon::gpu
