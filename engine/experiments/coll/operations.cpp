// SPDX-License-Identifier: Apache-2.0
#include "coll/operations.hpp"

#include "mpi/check.hpp"

namespace slowpath::coll {
namespace {

/// MPI passes how many elements of the type, which may be one of many numbers (MPI-4.1 section 6.9.5).
std::int64_t elements_of_unit = 1;

template <class T>
void add(void* in, void* in_out, int* units, MPI_Datatype*) {
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(in_out);
    const std::int64_t elements = *units * elements_of_unit;
    for (std::int64_t i = 0; i < elements; ++i) to[i] = static_cast<T>(to[i] + from[i]);
}

template <class T>
void compose(void* in, void* in_out, int* units, MPI_Datatype*) {
    constexpr unsigned half_bits = sizeof(T) == 1 ? 4 : 16;
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(in_out);
    const std::int64_t elements = *units * elements_of_unit;
    for (std::int64_t i = 0; i < elements; ++i)
        to[i] = static_cast<T>(composed<half_bits>(number_of(from[i]), number_of(to[i])));
}

MPI_User_function* function(Element element, bool ordered) {
    switch (element) {
        case Element::byte:
            return ordered ? compose<std::uint8_t> : add<std::uint8_t>;
        case Element::integer:
            return ordered ? compose<std::int32_t> : add<std::int32_t>;
        case Element::real:
            return ordered ? compose<double> : add<double>;
    }
    return nullptr;
}

}  // namespace

Operation::Operation(Element element, Op op, std::int64_t elements_a_unit) : ours_(op != Op::sum) {
    if (!ours_) return;
    elements_of_unit = elements_a_unit;
    const bool ordered = op == Op::user_ordered;
    mpi::check(MPI_Op_create(function(element, ordered), ordered ? 0 : 1, &op_), "MPI_Op_create");
}

Operation::~Operation() {
    if (ours_) MPI_Op_free(&op_);
}

}  // namespace slowpath::coll
