// SPDX-License-Identifier: Apache-2.0
#include "record/block.hpp"

#include <array>
#include <cstring>

namespace slowpath {

namespace {

#define SLOWPATH_FIELD(name)                                          \
    BlockField {                                                      \
        #name, offsetof(BlockHeader, name), sizeof(BlockHeader::name) \
    }
constexpr std::array fields{
    SLOWPATH_FIELD(magic),
    SLOWPATH_FIELD(header_bytes),
    SLOWPATH_FIELD(version),
    SLOWPATH_FIELD(cell),
    SLOWPATH_FIELD(launch),
    SLOWPATH_FIELD(rank),
    SLOWPATH_FIELD(phase),
    SLOWPATH_FIELD(columns),
    SLOWPATH_FIELD(flags),
    SLOWPATH_FIELD(batch),
    SLOWPATH_FIELD(allocation),
    SLOWPATH_FIELD(n),
    SLOWPATH_FIELD(t0_ns),
    SLOWPATH_FIELD(seq0),
    SLOWPATH_FIELD(minor_faults),
    SLOWPATH_FIELD(major_faults),
    SLOWPATH_FIELD(user_time_ns),
    SLOWPATH_FIELD(system_time_ns),
    SLOWPATH_FIELD(voluntary_switches),
    SLOWPATH_FIELD(involuntary_switches),
    SLOWPATH_FIELD(cpu_begin),
    SLOWPATH_FIELD(cpu_end),
    SLOWPATH_FIELD(part),
    SLOWPATH_FIELD(payload_crc),
    SLOWPATH_FIELD(header_crc),
};
#undef SLOWPATH_FIELD

/// A gap would be a byte of the file that no field names.
constexpr bool without_gaps() {
    std::size_t end = 0;
    for (const BlockField& field : fields) {
        if (field.offset != end) return false;
        end += field.bytes;
    }
    return end == sizeof(BlockHeader);
}
static_assert(without_gaps());

std::uint32_t header_checksum(const BlockHeader& header) {
    return crc32(std::as_bytes(std::span(&header, 1)).first(offsetof(BlockHeader, header_crc)));
}

}  // namespace

std::span<const BlockField> block_fields() {
    return fields;
}

void append_block(std::vector<std::byte>& to, BlockHeader header, std::span<const std::int64_t> durations_ns,
                  std::span<const std::int64_t> begins_ns) {
    std::vector<std::int64_t> payload(durations_ns.begin(), durations_ns.end());
    for (const std::int64_t begin_ns : begins_ns) payload.push_back(begin_ns - header.t0_ns);
    header.n = durations_ns.size();
    header.columns = begins_ns.empty() ? 1 : 3;
    header.payload_crc = crc32(std::as_bytes(std::span(payload)));
    header.header_crc = header_checksum(header);
    const auto head = std::as_bytes(std::span(&header, 1));
    const auto body = std::as_bytes(std::span(payload));
    to.insert(to.end(), head.begin(), head.end());
    to.insert(to.end(), body.begin(), body.end());
}

std::optional<Block> take_block(std::span<const std::byte>& rest) {
    Block block;
    if (rest.size() < sizeof(BlockHeader)) return std::nullopt;
    std::memcpy(&block.header, rest.data(), sizeof(BlockHeader));
    const BlockHeader& header = block.header;
    if (header.magic != BlockHeader{}.magic || header.version != block_version ||
        header.header_bytes != sizeof(BlockHeader) || header.header_crc != header_checksum(header))
        return std::nullopt;
    const std::size_t columns = (header.columns & 2U) ? 2 : 1;
    const std::size_t held = (rest.size() - sizeof(BlockHeader)) / (columns * sizeof(std::int64_t));
    if (header.n > held) return std::nullopt;
    const auto payload = rest.subspan(sizeof(BlockHeader), columns * sizeof(std::int64_t) * header.n);
    if (crc32(payload) != header.payload_crc) return std::nullopt;
    const std::size_t column_bytes = sizeof(std::int64_t) * header.n;
    block.durations_ns.resize(header.n);
    block.starts_ns.resize(columns == 2 ? header.n : 0);
    if (column_bytes != 0) std::memcpy(block.durations_ns.data(), payload.data(), column_bytes);
    if (column_bytes != 0 && columns == 2)
        std::memcpy(block.starts_ns.data(), payload.data() + column_bytes, column_bytes);
    rest = rest.subspan(sizeof(BlockHeader) + payload.size());
    return block;
}

namespace {

constexpr std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1U) ? 0xEDB88320U : 0U);
        made[byte] = value;
    }
    return made;
}();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
    std::uint32_t value = ~before;
    for (const std::byte byte : bytes)
        value = table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU] ^ (value >> 8);
    return ~value;
}

}  // namespace slowpath
