// SPDX-License-Identifier: Apache-2.0
#include "p2p/message_encoding.hpp"

#include <numeric>
#include <vector>

#include "mpi/check.hpp"

namespace slowpath::p2p {
namespace {

/// What programs send in blocks is numbers; only blocks that hold no whole ones are made of bytes.
struct Element {
    MPI_Datatype type;
    int bytes;
};

Element element_of(const Layout& layout) {
    if (layout.block_bytes % 8 == 0) return {MPI_DOUBLE, 8};
    return {MPI_BYTE, 1};
}

MPI_Datatype vector_of(const Layout& layout) {
    const Element element = element_of(layout);
    const auto stride = static_cast<int>(layout.stride_bytes / element.bytes);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    mpi::check(
        MPI_Type_vector(static_cast<int>(layout.blocks), static_cast<int>(layout.block_bytes / element.bytes),
                        stride, element.type, &made),
        "MPI_Type_vector");
    return made;
}

/// Places listed one by one, whether or not a vector has the same.
MPI_Datatype indexed_of(const Layout& layout) {
    const Element element = element_of(layout);
    const std::vector<int> lengths(static_cast<std::size_t>(layout.blocks),
                                   static_cast<int>(layout.block_bytes / element.bytes));
    std::vector<int> places(lengths.size());
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = static_cast<int>(layout.begin_of(static_cast<std::int64_t>(i)) / element.bytes);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    mpi::check(
        MPI_Type_indexed(static_cast<int>(layout.blocks), lengths.data(), places.data(), element.type, &made),
        "MPI_Type_indexed");
    return made;
}

}  // namespace

MessageEncoding::MessageEncoding(const Config& config, Side which) : message_bytes_(config.message_bytes) {
    const Shape &mine = config.shape(which), *blocks = config.in_blocks();
    const bool in_loop = config.pack == Pack::loop && blocks != nullptr;
    // One piece needs no packing, and may receive what was packed (MPI-4.1 section 5.2).
    const bool in_piece = mine.datatype == Datatype::contiguous && blocks != nullptr;
    if (in_piece || in_loop) {
        const Element element = element_of(blocks->layout);
        numbers_ = {element.type, static_cast<int>(config.message_bytes / element.bytes)};
        if (in_piece) return;
        loop_.emplace(mine.layout, element.bytes, mine.datatype != Datatype::vector);
        packed_bytes_ = static_cast<int>(config.message_bytes);
        packs_ = true;
        return;
    }
    packs_ = config.pack == Pack::mpi_pack;
    if (blocks == nullptr && !packs_) return;
    type_ = mine.datatype == Datatype::vector ? vector_of(mine.layout) : indexed_of(mine.layout);
    mpi::check(MPI_Type_commit(&type_), "MPI_Type_commit");
    if (packs_) mpi::check(MPI_Pack_size(1, type_, MPI_COMM_WORLD, &packed_bytes_), "MPI_Pack_size");
}

MessageEncoding::~MessageEncoding() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

std::optional<std::string> MessageEncoding::allocate(memory::Request like) {
    if (!packs_) return std::nullopt;
    like.bytes = static_cast<std::size_t>(packed_bytes_);
    like.offset_bytes = 0;
    like.touch = memory::Touch::write;
    try {
        packed_.emplace(like);
    } catch (const std::exception& error) {
        return "memory to pack in: " + std::string(error.what());
    }
    return std::nullopt;
}

}  // namespace slowpath::p2p
