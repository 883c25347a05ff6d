// SPDX-License-Identifier: Apache-2.0
#include "exchange/halo.hpp"

#include <algorithm>

#include "core/pattern.hpp"
#include "mpi/check.hpp"

namespace slowpath::exchange {
namespace {

constexpr int first_tag = 80;

/// A message's tag says which way it goes: both neighbours in a dimension may be one rank.
int tag_towards(int dimension, bool upper) {
    return first_tag + 2 * dimension + (upper ? 1 : 0);
}

}  // namespace

Halo::Halo(const Config& config, const Grid& grid, int rank, std::uint64_t seed)
    : box_(config.box),
      datatype_(config.datatype),
      rank_(rank),
      seed_(seed),
      neighbours_(neighbours_of(grid, rank)),
      array_(static_cast<std::size_t>(config.box.array_bytes())),
      requests_(2 * neighbours_.size(), MPI_REQUEST_NULL) {
    if (config.validate) scratch_.resize(array_.size());
    fill_as(rank, 0, array_);
    for (const Neighbour& one : neighbours_) {
        Face& face = faces_.emplace_back(Face{.neighbour = one,
                                              .inner = box_.inner_face(one.dimension, one.upper),
                                              .ghost = box_.ghost_face(one.dimension, one.upper)});
        const auto bytes = static_cast<std::size_t>(box_.face_bytes(one.dimension));
        face.expected.resize(config.validate ? bytes : 0);
        if (datatype_ == Datatype::derived) continue;
        face.out.resize(bytes);
        face.in.resize(bytes);
    }
    if (datatype_ != Datatype::derived) return;
    for (Face& face : faces_) {
        face.out_type = subarray(face.inner);
        face.in_type = subarray(face.ghost);
    }
}

Halo::~Halo() {
    for (Face& face : faces_) {
        if (face.out_type != MPI_DATATYPE_NULL) MPI_Type_free(&face.out_type);
        if (face.in_type != MPI_DATATYPE_NULL) MPI_Type_free(&face.in_type);
    }
}

MPI_Datatype Halo::subarray(const Region& region) const {
    const auto extents = box_.array_points();
    std::array<int, 3> sizes{}, points{}, begins{};
    for (std::size_t d = 0; d < 3; ++d) {  // MPI_ORDER_C has the fastest dimension last
        sizes[2 - d] = static_cast<int>(extents[d]);
        points[2 - d] = static_cast<int>(region.points[d]);
        begins[2 - d] = static_cast<int>(region.begin[d]);
    }
    MPI_Datatype point = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
    mpi::check(MPI_Type_contiguous(static_cast<int>(box_.point_bytes), MPI_BYTE, &point),
               "MPI_Type_contiguous");
    mpi::check(
        MPI_Type_create_subarray(3, sizes.data(), points.data(), begins.data(), MPI_ORDER_C, point, &made),
        "MPI_Type_create_subarray");
    mpi::check(MPI_Type_commit(&made), "MPI_Type_commit");
    mpi::check(MPI_Type_free(&point), "MPI_Type_free");
    return made;
}

void Halo::fill_as(int rank, std::uint64_t number, Bytes& array) const {
    fill_pattern(array, mix(mix(seed_, static_cast<std::uint64_t>(rank)), number), 0, false);
}

void Halo::prepare(std::uint64_t number) {
    fill_as(rank_, number, array_);
    for (Face& face : faces_) {
        const auto [dimension, upper, sender] = face.neighbour;
        fill_as(sender, number, scratch_);
        box_.pack(scratch_, box_.inner_face(dimension, !upper), face.expected);
        Bytes poison = face.expected;
        std::transform(poison.begin(), poison.end(), poison.begin(), [](std::byte one) { return ~one; });
        box_.unpack(poison, face.ghost, array_);
        if (datatype_ == Datatype::derived) continue;
        face.in = poison;
        box_.pack(array_, face.inner, face.out);
    }
}

int Halo::start_receive(Face& face, MPI_Request& request) {
    const auto [dimension, upper, from] = face.neighbour;
    const int tag = tag_towards(dimension, !upper);
    if (datatype_ == Datatype::derived)
        return MPI_Irecv(array_.data(), 1, face.in_type, from, tag, MPI_COMM_WORLD, &request);
    return MPI_Irecv(face.in.data(), static_cast<int>(face.in.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                     &request);
}

int Halo::start_send(Face& face, MPI_Request& request) {
    const auto [dimension, upper, to] = face.neighbour;
    const int tag = tag_towards(dimension, upper);
    if (datatype_ == Datatype::derived)
        return MPI_Isend(array_.data(), 1, face.out_type, to, tag, MPI_COMM_WORLD, &request);
    if (datatype_ == Datatype::packed) box_.pack(array_, face.inner, face.out);
    return MPI_Isend(face.out.data(), static_cast<int>(face.out.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD,
                     &request);
}

int Halo::exchange() {
    std::size_t started = 0;
    for (Face& face : faces_)
        if (const int code = start_receive(face, requests_[started++]); code != MPI_SUCCESS) [[unlikely]]
            return code;
    for (Face& face : faces_)
        if (const int code = start_send(face, requests_[started++]); code != MPI_SUCCESS) [[unlikely]]
            return code;
    const int code = MPI_Waitall(static_cast<int>(started), requests_.data(), MPI_STATUSES_IGNORE);
    if (datatype_ == Datatype::packed)
        for (const Face& face : faces_) box_.unpack(face.in, face.ghost, array_);
    return code;
}

void Halo::compare(std::uint64_t number, const char* when) {
    if (datatype_ == Datatype::contiguous) {
        for (const Face& face : faces_) judge(face.expected, face.in, when);
        return;
    }
    fill_as(rank_, number, scratch_);
    for (const Face& face : faces_) box_.unpack(face.expected, face.ghost, scratch_);
    judge(scratch_, array_, when);
}

void Halo::judge(const Bytes& expected, const Bytes& got, const char* when) {
    const Difference found = slowpath::exchange::compare(expected, got);
    compared_bytes += static_cast<std::int64_t>(expected.size());
    wrong_bytes += found.wrong_bytes;
    if (!found.first_wrong || first_wrong) return;
    first_wrong = "wrong payload: " + std::to_string(found.wrong_bytes) + " of " +
                  std::to_string(expected.size()) + " bytes, the first at index " +
                  std::to_string(*found.first_wrong) + ", on rank " + std::to_string(rank_) + ", " + when;
}

}  // namespace slowpath::exchange
