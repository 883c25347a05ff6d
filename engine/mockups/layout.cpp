// SPDX-License-Identifier: Apache-2.0
#include "mockups/layout.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "mockups/calls.hpp"
#include "mockups/process.hpp"

namespace slowpath::mockups {

namespace {

struct Extent {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
};

Extent extent_of(MPI_Datatype type) {
    Extent found;
    SLOWPATH_MPI(Type_get_extent)(type, &found.lower, &found.extent);
    return found;
}

}  // namespace

int rank_in(MPI_Comm communicator) {
    int rank = 0;
    SLOWPATH_MPI(Comm_rank)(communicator, &rank);
    return rank;
}

int size_of(MPI_Comm communicator) {
    int size = 1;
    SLOWPATH_MPI(Comm_size)(communicator, &size);
    return size;
}

std::int64_t element_bytes(MPI_Datatype type) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || SLOWPATH_MPI(Type_size)(type, &size) != MPI_SUCCESS) return 0;
    return std::max(size, 0);  // MPI_UNDEFINED is negative
}

std::span<const MPI_Datatype> basic_types() {
    // Not constexpr: Open MPI's handles are addresses of its library.
    static const std::array types{MPI_BYTE,
                                  MPI_CHAR,
                                  MPI_SIGNED_CHAR,
                                  MPI_UNSIGNED_CHAR,
                                  MPI_SHORT,
                                  MPI_INT,
                                  MPI_UNSIGNED_SHORT,
                                  MPI_UNSIGNED,
                                  MPI_LONG,
                                  MPI_UNSIGNED_LONG,
                                  MPI_FLOAT,
                                  MPI_LONG_LONG,
                                  MPI_DOUBLE,
                                  MPI_UNSIGNED_LONG_LONG,
                                  MPI_INT8_T,
                                  MPI_INT16_T,
                                  MPI_INT32_T,
                                  MPI_INT64_T,
                                  MPI_UINT8_T,
                                  MPI_UINT16_T,
                                  MPI_UINT32_T,
                                  MPI_UINT64_T,
                                  MPI_C_FLOAT_COMPLEX,
                                  MPI_C_DOUBLE_COMPLEX};
    return types;
}

bool is_basic(MPI_Datatype type) {
    const std::span<const MPI_Datatype> types = basic_types();
    return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_dense(MPI_Datatype type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    SLOWPATH_MPI(Type_get_extent)(type, &lower, &extent);
    SLOWPATH_MPI(Type_get_true_extent)(type, &true_lower, &true_extent);
    return lower == 0 && true_lower == 0 && extent == true_extent && extent == element_bytes(type);
}

bool is_plain(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    SLOWPATH_MPI(Type_get_envelope)(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED && is_dense(type);
}

bool is_usable(MPI_Datatype type) {
    if (is_basic(type)) return true;
    // Nothing of it: the library looks at the datatype, and tells nobody but us.
    std::byte nothing{};
    int at = 0;
    return SLOWPATH_MPI(Pack)(&nothing, 0, type, &nothing, 1, &at, ours()) == MPI_SUCCESS;
}

std::byte* element(void* begin, std::int64_t index, MPI_Datatype type) {
    return static_cast<std::byte*>(begin) + index * extent_of(type).extent;
}

const std::byte* element(const void* begin, std::int64_t index, MPI_Datatype type) {
    return static_cast<const std::byte*>(begin) + index * extent_of(type).extent;
}

void* room_for(Workspace& workspace, Scratch use, std::int64_t count, MPI_Datatype type) {
    MPI_Aint lower = 0;
    MPI_Aint length = 0;
    SLOWPATH_MPI(Type_get_true_extent)(type, &lower, &length);
    const MPI_Aint last = std::max<std::int64_t>(count - 1, 0) * extent_of(type).extent;
    const MPI_Aint begin = std::min<MPI_Aint>(last, 0) + lower;
    const MPI_Aint end = std::max<MPI_Aint>(last, 0) + lower + length;
    return workspace.memory(use, static_cast<std::size_t>(end - begin)) - begin;
}

Block::Block(int count, MPI_Datatype type) : count_(count), type_(type) {
    if (count == 0 || is_basic(type)) return;
    MPI_Aint lower = 0;
    MPI_Aint length = 0;
    SLOWPATH_MPI(Type_get_true_extent)(type, &lower, &length);
    const MPI_Aint step = std::abs(extent_of(type).extent);
    if (length <= step) return;
    const ErrorsReturned errors_returned;
    MPI_Datatype together = MPI_DATATYPE_NULL;
    if (SLOWPATH_MPI(Type_contiguous)(count, type, &together) != MPI_SUCCESS) throw std::bad_alloc();
    const int code = SLOWPATH_MPI(Type_create_resized)(together, 0, (count - 1) * step + length, &type_);
    SLOWPATH_MPI(Type_free)(&together);
    if (code != MPI_SUCCESS) throw std::bad_alloc();
    if (SLOWPATH_MPI(Type_commit)(&type_) != MPI_SUCCESS) {
        SLOWPATH_MPI(Type_free)(&type_);
        throw std::bad_alloc();
    }
    count_ = 1;
    is_made_ = true;
}

Block::~Block() {
    if (is_made_) SLOWPATH_MPI(Type_free)(&type_);
}

int copy(Workspace& workspace, const void* from, int count, MPI_Datatype type, void* to, int to_count,
         MPI_Datatype to_type) {
    if (count == 0 || element_bytes(type) == 0) return MPI_SUCCESS;
    if (type == to_type && is_dense(type)) {
        std::memcpy(to, from, static_cast<std::size_t>(count * element_bytes(type)));
        return MPI_SUCCESS;
    }
    // Not on MPI_COMM_SELF, where a message could meet one of the program's.
    const int rank = rank_in(ours());
    const int tag = self_tag();
    return workspace.raised(SLOWPATH_MPI(Sendrecv)(from, count, type, rank, tag, to, to_count, to_type, rank,
                                                   tag, ours(), MPI_STATUS_IGNORE));
}

Flat::Flat(Workspace& workspace, Scratch use, void* buffer, int count, MPI_Datatype type)
    : workspace_(&workspace),
      buffer_(buffer),
      count_(count),
      type_(type),
      bytes_(static_cast<int>(count * element_bytes(type))),
      is_buffer_(is_plain(type)),
      data_(is_buffer_ ? static_cast<std::byte*>(buffer)
                       : workspace.memory(use, static_cast<std::size_t>(bytes_))) {}

int Flat::load() {
    if (is_buffer_ || bytes_ == 0) return MPI_SUCCESS;
    int end = 0;
    return workspace_->raised(SLOWPATH_MPI(Pack)(buffer_, count_, type_, data_, bytes_, &end, ours()));
}

int Flat::store() {
    if (is_buffer_ || bytes_ == 0) return MPI_SUCCESS;
    int begin = 0;
    return workspace_->raised(SLOWPATH_MPI(Unpack)(data_, bytes_, &begin, buffer_, count_, type_, ours()));
}

}  // namespace slowpath::mockups
