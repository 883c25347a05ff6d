// SPDX-License-Identifier: Apache-2.0
/// Copies of any datatype to any other: directly, and through the chain of general functions that a full MPI
/// has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/datatype.hpp"

namespace slowpath::layers::ladder {

/// Copy `bytes` > 0 bytes of data from elements of one datatype to elements of another, at once.
void copy_typed(std::byte* target, const TypeRecord& target_record, std::int64_t target_count,
                const std::byte* origin, const TypeRecord& origin_record, std::int64_t origin_count,
                std::uint64_t bytes);

/// The same, as if nothing were known yet of either side: the datatypes are looked up again, one side is seen
/// to be contiguous or both go through a buffer of 16 KiB, and packing or unpacking looks up its datatype and
/// asks about both pointers once more. Structure: MPICH's MPIR_Localcopy, MPIR_Typerep_pack and
/// MPIR_Typerep_unpack.
/// @return layers::Error.
int copy_generally(const std::byte* origin, std::int64_t origin_count, Datatype origin_type,
                   std::byte* target, std::int64_t target_count, Datatype target_type,
                   const TypeRecord* types);

/// Copy elements to consecutive bytes, from byte `offset_bytes` of the data on.
/// @param most_bytes Room. @param packed_bytes How many were copied.
int pack(const std::byte* origin, std::int64_t count, Datatype datatype, std::int64_t offset_bytes,
         std::byte* buffer, std::int64_t most_bytes, std::int64_t& packed_bytes, const TypeRecord* types);

/// The other way. @param bytes In the buffer. @param unpacked_bytes How many were copied.
int unpack(const std::byte* buffer, std::int64_t bytes, std::byte* target, std::int64_t count,
           Datatype datatype, std::int64_t offset_bytes, std::int64_t& unpacked_bytes,
           const TypeRecord* types);

}  // namespace slowpath::layers::ladder
