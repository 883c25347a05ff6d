// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <cstdint>
#include <cstring>

namespace slowpath::mockups::tests {

namespace {

/// y after x of the maps t -> a t + b modulo 2^32: the order counts, the grouping does not.
struct Map {
    std::uint32_t a;
    std::uint32_t b;
};

void compose(void* first, void* second, int* count, MPI_Datatype*) {
    const auto* in = static_cast<const Map*>(first);
    auto* inout = static_cast<Map*>(second);
    for (int i = 0; i < *count; ++i) inout[i] = {inout[i].a * in[i].a, inout[i].a * in[i].b + inout[i].b};
}

/// Element-wise maximum of ints, of any datatype made of two ints a fixed distance apart, or of ints.
void maximum(void* first, void* second, int* count, MPI_Datatype* type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    int size = 0;
    MPI_Type_get_extent(*type, &lower, &extent);
    MPI_Type_size(*type, &size);
    const std::ptrdiff_t second_int = size == 8 ? extent - 8 : 0;  // see gapped()
    for (int i = 0; i < *count; ++i)
        for (const std::ptrdiff_t place : {std::ptrdiff_t{0}, second_int}) {
            int x = 0;
            int y = 0;
            std::memcpy(&x, static_cast<char*>(first) + i * extent + place, sizeof x);
            char* const to = static_cast<char*>(second) + i * extent + place;
            std::memcpy(&y, to, sizeof y);
            if (x > y) std::memcpy(to, &x, sizeof x);
        }
}

MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

/// Two ints with a gap between, and one behind: bytes 0-3 and 12-15 of 20.
MPI_Datatype gapped() {
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 20, &resized);
    MPI_Type_free(&vector);
    return committed(resized);
}

/// Two ints, the second one first: dense, and not in the order of memory.
MPI_Datatype reversed() {
    const int lengths[] = {1, 1};
    const int places[] = {1, 0};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    return committed(type);
}

MPI_Datatype pair_of(MPI_Datatype of) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, of, &type);
    return committed(type);
}

}  // namespace

std::vector<Kind> kinds(int rank) {
    MPI_Op greatest = MPI_OP_NULL;
    MPI_Op in_order = MPI_OP_NULL;
    MPI_Op_create(maximum, 1, &greatest);
    MPI_Op_create(compose, 0, &in_order);
    const bool odd = rank % 2 == 1;
    return {
        {"int", MPI_INT, 1, false, {MPI_SUM, greatest}},
        {"byte", MPI_BYTE, 1, false, {MPI_BXOR}},
        {"double_int", MPI_DOUBLE_INT, 1, true, {MPI_MINLOC}},
        {"pair", pair_of(MPI_UNSIGNED), 1, false, {in_order}},
        {"gapped", gapped(), 1, false, {greatest}},
        {"mixed", odd ? reversed() : MPI_INT, odd ? 1 : 2, false, {}},
        {"mixed gapped", odd ? gapped() : pair_of(MPI_INT), 1, false, {}},
    };
}

Buffer::Buffer(const Kind& kind, int elements, int seed)
    : kind_(&kind), elements_(elements * kind.per_element) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(kind.type, &lower, &extent);
    bytes_.resize(2 * guard + static_cast<std::size_t>(elements_ * extent), std::byte{0x5a});
    int bytes = 0;
    MPI_Pack_size(elements_, kind.type, MPI_COMM_SELF, &bytes);
    std::vector<std::byte> values(static_cast<std::size_t>(bytes));
    // Small, so that sums of doubles are exact; of bytes as of ints and maps nothing is lost.
    auto state = static_cast<std::uint32_t>(seed) * 2654435761U + 12345U;
    for (std::byte& value : values) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<std::byte>(state >> 24U);
    }
    if (kind.type == MPI_DOUBLE_INT)
        for (int i = 0; i < elements_; ++i) {
            const double number = static_cast<double>((seed * 7 + i) % 5);
            std::memcpy(values.data() + 12 * i, &number, sizeof number);
        }
    if (elements_ == 0) return;
    int at = 0;
    MPI_Unpack(values.data(), bytes, &at, data(), elements_, kind.type, MPI_COMM_SELF);
}

std::vector<std::byte> Buffer::packed() const {
    if (elements_ == 0) return {};
    int bytes = 0;
    MPI_Pack_size(elements_, kind_->type, MPI_COMM_SELF, &bytes);
    std::vector<std::byte> values(static_cast<std::size_t>(bytes));
    int at = 0;
    MPI_Pack(bytes_.data() + guard, elements_, kind_->type, values.data(), bytes, &at, MPI_COMM_SELF);
    values.resize(static_cast<std::size_t>(at));
    return values;
}

std::vector<std::byte> Buffer::rest() const {
    if (kind_->has_padding) return {};
    if (elements_ == 0) return bytes_;
    Buffer without = *this;
    std::vector<std::byte> zeros(packed().size());
    int at = 0;
    MPI_Unpack(zeros.data(), static_cast<int>(zeros.size()), &at, without.data(), elements_, kind_->type,
               MPI_COMM_SELF);
    return without.bytes_;
}

}  // namespace slowpath::mockups::tests
