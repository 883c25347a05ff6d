// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/stage.hpp"

namespace slowpath::cannon::gpu {
namespace {

std::size_t length(std::int64_t elements, std::int64_t each_bytes) {
    return static_cast<std::size_t>(elements * each_bytes);
}

CudaDevicePointer offset(CudaDevicePointer pointer, std::int64_t bytes) {
    return pointer + static_cast<CudaDevicePointer>(bytes);
}

/// The first place is needed from the second step on, the second from the third on.
std::size_t place(const Layout& layout, bool moves, int which, std::size_t bytes) {
    return moves && layout.steps() > which + 1 ? bytes : 0;
}

std::size_t index(int step) {
    return static_cast<std::size_t>((step - 1) % 2);
}

}  // namespace

DeviceStrips::DeviceStrips(const Cuda& cuda, const Layout& layout, Element element)
    : a(cuda, length(layout.a_elements(), input_bytes(element))),
      b(cuda, length(layout.b_elements(), input_bytes(element))),
      c(cuda, length(layout.c_elements(), output_bytes(element))),
      a_places{DeviceMemory(cuda, place(layout, layout.a_moves(), 0, a.bytes())),
               DeviceMemory(cuda, place(layout, layout.a_moves(), 1, a.bytes()))},
      b_places{DeviceMemory(cuda, place(layout, layout.b_moves(), 0, b.bytes())),
               DeviceMemory(cuda, place(layout, layout.b_moves(), 1, b.bytes()))} {}

CudaDevicePointer DeviceStrips::a_of_step(int step) const {
    return step == 0 || a_places[0].bytes() == 0 ? a.get() : a_places[index(step)].get();
}

CudaDevicePointer DeviceStrips::b_of_step(int step) const {
    return step == 0 || b_places[0].bytes() == 0 ? b.get() : b_places[index(step)].get();
}

void DeviceStrips::poison(const Cuda& cuda) const {
    for (const DeviceMemory* const memory : {&a_places[0], &a_places[1], &b_places[0], &b_places[1], &c})
        memory->fill_with_nan();
    cuda.synchronise();
}

const Event& DeviceStage::multiply(int step, CudaDevicePointer a_panel, CudaDevicePointer b_panel) const {
    const Product product{static_cast<int>(layout.c_rows()),
                          static_cast<int>(layout.c_columns()),
                          static_cast<int>(layout.panel()),
                          a_panel,
                          b_panel,
                          strips.c.get(),
                          step > 0};
    return timer.timed(Part::dgemm, step, compute, [&] { blas.multiply(element, product); });
}

const Event& DeviceStage::multiply_shifted(int step) const {
    const int k = layout.k_of_step(step);
    return multiply(step, offset(strips.a_of_step(step), a_offset(k)),
                    offset(strips.b_of_step(step), b_offset(k)));
}

}  // namespace slowpath::cannon::gpu
