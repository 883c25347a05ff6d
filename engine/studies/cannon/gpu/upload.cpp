// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/upload.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "cannon/distribution.hpp"

namespace slowpath::cannon::gpu {
namespace {

/// A panel's place in the matrix and in its strip.
struct Panel {
    Matrix which;
    std::int64_t first_row, rows, first_column, columns, at;
};

std::int64_t columns_at_once(std::int64_t rows) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(chunk_bytes / sizeof(double)) / rows);
}

void each_chunk(const Inputs& inputs, const Panel& panel, std::vector<double>& buffer,
                const std::function<void(const Columns&)>& use) {
    const std::int64_t most = columns_at_once(panel.rows);
    for (std::int64_t done = 0; done < panel.columns; done += most) {
        const std::int64_t columns = std::min(most, panel.columns - done);
        buffer.resize(static_cast<std::size_t>(most * panel.rows));
        inputs.fill(panel.which, panel.first_row, panel.rows, panel.first_column + done, columns,
                    buffer.data());
        use({buffer.data(), panel.first_row, panel.rows, panel.first_column + done, columns,
             panel.at + done * panel.rows});
    }
}

/// The upper half of a float; integers up to 256 in magnitude are exact.
void to_bfloat16(const double* from, std::int64_t elements, std::uint16_t* to) {
    for (std::int64_t i = 0; i < elements; ++i)
        to[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(from[i])) >> 16);
}

}  // namespace

void each_chunk_of_a(const Inputs& inputs, const Layout& layout, int strip,
                     const std::function<void(const Columns&)>& use) {
    std::vector<double> buffer;
    const std::int64_t rows = layout.c_rows(), width = layout.panel();
    for (int k = strip; k < layout.steps(); k += layout.columns)
        each_chunk(inputs, {Matrix::a, layout.row * rows, rows, k * width, width, layout.a_offset(k)}, buffer,
                   use);
}

void each_chunk_of_b(const Inputs& inputs, const Layout& layout, int strip,
                     const std::function<void(const Columns&)>& use) {
    std::vector<double> buffer;
    const std::int64_t columns = layout.c_columns(), height = layout.panel();
    for (int k = strip; k < layout.steps(); k += layout.rows)
        each_chunk(inputs,
                   {Matrix::b, k * height, height, layout.column * columns, columns, layout.b_offset(k)},
                   buffer, use);
}

std::size_t staging_bytes(const Layout& layout) {
    return std::max(chunk_bytes, static_cast<std::size_t>(layout.n) * sizeof(double));
}

void upload(const Cuda& cuda, const Inputs& inputs, const Layout& layout, Element element,
            const DeviceStrips& strips, const Staging& staging) {
    const auto bring = [&](CudaDevicePointer strip, const Columns& chunk) {
        const std::int64_t elements = chunk.rows * chunk.columns;
        const auto bytes = static_cast<std::size_t>(elements * input_bytes(element));
        if (element == Element::float64)
            std::copy_n(chunk.elements, elements, static_cast<double*>(staging.get()));
        else
            to_bfloat16(chunk.elements, elements, static_cast<std::uint16_t*>(staging.get()));
        const CudaDevicePointer to = strip + static_cast<CudaDevicePointer>(chunk.at * input_bytes(element));
        cuda.check(cuda.driver().call().cuMemcpyHtoD_v2(to, staging.get(), bytes), "cuMemcpyHtoD", bytes);
    };
    each_chunk_of_a(inputs, layout, a_class(layout, Placement::skewed),
                    [&](const Columns& chunk) { bring(strips.a.get(), chunk); });
    each_chunk_of_b(inputs, layout, b_class(layout, Placement::skewed),
                    [&](const Columns& chunk) { bring(strips.b.get(), chunk); });
    cuda.synchronise();
}

}  // namespace slowpath::cannon::gpu
