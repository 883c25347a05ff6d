// SPDX-License-Identifier: Apache-2.0
/// Datatypes: where the bytes of one element lie (MPI-4.1 chapter 5), behind handles of 32 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace slowpath::layers {

/// A handle. Bit 31: predefined, that is contiguous and committed by nature. Bits 31..16: index of the
/// record. Bits 15..0: the size in bytes of a predefined datatype, 0 in a derived one. So a layer that knows
/// predefined datatypes only needs no memory to read their size.
enum class Datatype : std::uint32_t {
    null = 0,
    bytes_1 = 0x8001'0001,
    bytes_2 = 0x8002'0002,
    bytes_4 = 0x8003'0004,
    bytes_8 = 0x8004'0008,
    bytes_16 = 0x8005'0010,  ///< aligned to 8, as a pair of doubles is
};
inline constexpr std::array predefined_datatypes = {Datatype::bytes_1, Datatype::bytes_2, Datatype::bytes_4,
                                                    Datatype::bytes_8, Datatype::bytes_16};

constexpr std::uint32_t index_of(Datatype datatype) {
    return static_cast<std::uint32_t>(datatype) >> 16;
}

/// Whether all of these are predefined.
template <typename... Datatypes>
constexpr bool are_predefined(Datatypes... datatypes) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(datatypes) & ...)) < 0;
}

/// Size in bytes of a predefined datatype.
constexpr std::uint32_t size_in_handle(Datatype datatype) {
    return static_cast<std::uint32_t>(datatype) & 0xffff;
}

/// Consecutive bytes of an element, relative to the element's address.
struct Block {
    std::int64_t offset_bytes;
    std::int64_t bytes;  ///< > 0
};

/// What a put tests of both datatypes at once.
namespace type_flags {
inline constexpr std::uint16_t committed = 1;
/// One element is one block as long as the extent, so that any count of elements is one run of bytes; and it
/// is shorter than 2^32 bytes, so that no product with a count overflows.
inline constexpr std::uint16_t dense = 2;
}  // namespace type_flags

namespace type_traits {
/// There is data, elements follow one another upwards, and no product of a count and the extent overflows.
inline constexpr std::uint16_t forward = 1;
/// All blocks are 4 bytes long, or all are 8.
inline constexpr std::uint16_t blocks_of_4 = 2;
inline constexpr std::uint16_t blocks_of_8 = 4;
/// The bounds were set by `resized`, here or in a part, and are not padded (MPI-4.1 section 5.1.6).
inline constexpr std::uint16_t explicit_bounds = 8;
}  // namespace type_traits

/// What a handle stands for, one cache line. An index that is not in use has an all-zero record.
struct alignas(64) TypeRecord {
    std::uint16_t flags;         ///< type_flags
    std::uint16_t traits;        ///< type_traits
    std::uint32_t block_count;   ///< blocks of one element, in the order of the type map, neighbours merged
    std::int64_t size_bytes;     ///< data of one element
    std::int64_t true_lb_bytes;  ///< where the data of one element begins
    std::int64_t true_ub_bytes;  ///< where the data of one element ends
    std::int64_t extent_bytes;   ///< from one element to the next
    std::int64_t lb_bytes;
    const Block* blocks;
    Datatype handle;  ///< the one that was given out for this record
    std::uint32_t alignment_bytes;
};

/// One record for each index that a handle can hold: no handle, right or wrong, points beyond.
inline constexpr std::size_t most_records = std::size_t{1} << 16;
inline constexpr std::size_t most_derived = std::size_t{1} << 15;  ///< index 0 is that of null
const TypeRecord* type_records();

/// The record of a datatype. @throws UsageError: null, freed, or never made.
const TypeRecord& record_of(Datatype datatype);
std::span<const Block> blocks_of(Datatype datatype);

/// The constructors of MPI-4.1 section 5.1.2, 5.1.7 (resized), with counts of 64 bits. A new datatype has to
/// be committed before a put takes it; the old one may be freed at once. The extent is padded to the
/// alignment of the predefined datatypes in it (MPI-4.1 section 5.1.6) unless `resized` set it.
/// @throws UsageError: a negative count or block length, a null or freed datatype, lists of unequal lengths,
/// more than 2^24 blocks, bounds beyond 2^47 bytes, more than 32767 datatypes.
Datatype contiguous(std::int64_t count, Datatype old);
/// @param stride Elements from the start of one block to the start of the next.
Datatype vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, Datatype old);
Datatype hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride_bytes, Datatype old);
/// @param displacements In extents of `old`.
Datatype indexed(std::span<const std::int64_t> block_lengths, std::span<const std::int64_t> displacements,
                 Datatype old);
Datatype hindexed(std::span<const std::int64_t> block_lengths,
                  std::span<const std::int64_t> displacements_bytes, Datatype old);
Datatype structure(std::span<const std::int64_t> block_lengths,
                   std::span<const std::int64_t> displacements_bytes, std::span<const Datatype> olds);
Datatype resized(Datatype old, std::int64_t lb_bytes, std::int64_t extent_bytes);

/// Make it usable in puts; again is allowed, and so is a predefined one.
/// @throws UsageError: null, freed, or never made.
void commit(Datatype datatype);

/// Give the handle back; a later datatype may get it again. No put that uses it may be under way.
/// @throws UsageError: null, freed, never made, or predefined.
void free(Datatype datatype);

}  // namespace slowpath::layers
