// SPDX-License-Identifier: Apache-2.0
#include "layers/ladder_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "layers/blocks.hpp"
#include "layers/error.hpp"
#include "layers/ladder_state.hpp"

namespace slowpath::layers::ladder {
namespace {

constexpr std::int64_t buffer_bytes = 16384;

bool is_dense(const TypeRecord& record) {
    return (record.flags & type_flags::dense) != 0;
}

/// memcpy, or what the owner of device memory on either side copies with.
[[gnu::noinline]] void copy_pointers(std::byte* to, const std::byte* from, std::int64_t bytes) {
    PointerAttributes origin;
    PointerAttributes target;
    library.query_pointer(from, origin);
    library.query_pointer(to, target);
    if (origin.copy != nullptr || target.copy != nullptr) [[unlikely]] {
        (origin.copy != nullptr ? origin.copy : target.copy)(to, from, static_cast<std::size_t>(bytes));
        return;
    }
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// Call take(address, bytes) for each run of `bytes` bytes of data that begin with byte `offset_bytes`.
template <typename Byte, typename Take>
void each_run(Byte* base, const TypeRecord& record, std::int64_t offset_bytes, std::int64_t bytes,
              Take take) {
    Byte* element = base + offset_bytes / record.size_bytes * record.extent_bytes;
    std::int64_t skip_bytes = offset_bytes % record.size_bytes;
    for (; bytes > 0; element += record.extent_bytes) {
        for (std::uint32_t i = 0; i < record.block_count && bytes > 0; ++i) {
            const Block& block = record.blocks[i];
            if (skip_bytes >= block.bytes) {
                skip_bytes -= block.bytes;
                continue;
            }
            const std::int64_t run_bytes = std::min(block.bytes - skip_bytes, bytes);
            take(element + block.offset_bytes + skip_bytes, run_bytes);
            bytes -= run_bytes;
            skip_bytes = 0;
        }
    }
}

[[gnu::noinline]] void pack_blocks(const std::byte* origin, const TypeRecord& record,
                                   std::int64_t offset_bytes, std::byte* buffer, std::int64_t bytes) {
    each_run(origin, record, offset_bytes, bytes, [&](const std::byte* run, std::int64_t run_bytes) {
        copy_pointers(buffer, run, run_bytes);
        buffer += run_bytes;
    });
}

[[gnu::noinline]] void unpack_blocks(const std::byte* buffer, std::int64_t bytes, std::byte* target,
                                     const TypeRecord& record, std::int64_t offset_bytes) {
    each_run(target, record, offset_bytes, bytes, [&](std::byte* run, std::int64_t run_bytes) {
        copy_pointers(run, buffer, run_bytes);
        buffer += run_bytes;
    });
}

/// Neither side is contiguous: pack into a buffer and unpack from it, until all is moved.
[[gnu::noinline]] int copy_through_buffer(const std::byte* origin, std::int64_t origin_count,
                                          Datatype origin_type, std::byte* target, std::int64_t target_count,
                                          Datatype target_type, std::int64_t bytes, const TypeRecord* types) {
    std::array<std::byte, buffer_bytes> buffer;
    for (std::int64_t moved_bytes = 0; moved_bytes < bytes;) {
        std::int64_t packed_bytes = 0;
        std::int64_t unpacked_bytes = 0;
        const std::int64_t most_bytes = std::min(bytes - moved_bytes, buffer_bytes);
        if (const int code = pack(origin, origin_count, origin_type, moved_bytes, buffer.data(), most_bytes,
                                  packed_bytes, types))
            return code;
        if (const int code = unpack(buffer.data(), packed_bytes, target, target_count, target_type,
                                    moved_bytes, unpacked_bytes, types))
            return code;
        if (packed_bytes == 0 || packed_bytes != unpacked_bytes) return error_size;
        moved_bytes += packed_bytes;
    }
    return success;
}

}  // namespace

void copy_typed(std::byte* target, const TypeRecord& target_record, std::int64_t target_count,
                const std::byte* origin, const TypeRecord& origin_record, std::int64_t origin_count,
                std::uint64_t bytes) {
    if (is_dense(origin_record) && is_dense(target_record)) {
        std::memcpy(target + target_record.true_lb_bytes, origin + origin_record.true_lb_bytes, bytes);
    } else if (&origin_record == &target_record && origin_count == target_count) {
        copy_same(target, origin, origin_record, origin_count);
    } else {
        copy_merged(target, target_record, origin, origin_record, origin_count);
    }
}

[[gnu::noinline]] int pack(const std::byte* origin, std::int64_t count, Datatype datatype,
                           std::int64_t offset_bytes, std::byte* buffer, std::int64_t most_bytes,
                           std::int64_t& packed_bytes, const TypeRecord* types) {
    const TypeRecord& record = types[index_of(datatype)];
    packed_bytes = std::min(record.size_bytes * count - offset_bytes, most_bytes);
    if (packed_bytes <= 0) return error_size;
    if (is_dense(record)) {
        copy_pointers(buffer, origin + record.true_lb_bytes + offset_bytes, packed_bytes);
    } else {
        pack_blocks(origin, record, offset_bytes, buffer, packed_bytes);
    }
    return success;
}

[[gnu::noinline]] int unpack(const std::byte* buffer, std::int64_t bytes, std::byte* target,
                             std::int64_t count, Datatype datatype, std::int64_t offset_bytes,
                             std::int64_t& unpacked_bytes, const TypeRecord* types) {
    const TypeRecord& record = types[index_of(datatype)];
    unpacked_bytes = std::min(record.size_bytes * count - offset_bytes, bytes);
    if (unpacked_bytes <= 0) return error_size;
    if (is_dense(record)) {
        copy_pointers(target + record.true_lb_bytes + offset_bytes, buffer, unpacked_bytes);
    } else {
        unpack_blocks(buffer, unpacked_bytes, target, record, offset_bytes);
    }
    return success;
}

[[gnu::noinline]] int copy_generally(const std::byte* origin, std::int64_t origin_count, Datatype origin_type,
                                     std::byte* target, std::int64_t target_count, Datatype target_type,
                                     const TypeRecord* types) {
    const TypeRecord& from = types[index_of(origin_type)];
    const TypeRecord& to = types[index_of(target_type)];
    const std::int64_t origin_bytes = from.size_bytes * origin_count;
    const std::int64_t bytes = std::min(origin_bytes, to.size_bytes * target_count);
    if (bytes == 0) return success;
    std::int64_t moved_bytes = 0;
    int code;
    if (is_dense(from)) {
        code = unpack(origin + from.true_lb_bytes, bytes, target, target_count, target_type, 0, moved_bytes,
                      types);
    } else if (is_dense(to)) {
        code =
            pack(origin, origin_count, origin_type, 0, target + to.true_lb_bytes, bytes, moved_bytes, types);
    } else {
        code = copy_through_buffer(origin, origin_count, origin_type, target, target_count, target_type,
                                   bytes, types);
        moved_bytes = bytes;
    }
    if (code != success) return code;
    return moved_bytes == bytes ? success : error_size;
}

}  // namespace slowpath::layers::ladder
