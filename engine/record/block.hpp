// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace slowpath {

// One block of samples.blk: schema/block.json is the contract, and the offsets below are checked against it.

static_assert(std::endian::native == std::endian::little, "samples.blk is little endian");

inline constexpr int block_version = 1;

enum class Phase : std::uint8_t { init = 0, first = 1, warmup = 2, steady = 3 };
inline constexpr std::array<const char*, 4> phase_names{"init", "first", "warmup", "steady"};

namespace block_flag {
inline constexpr std::uint16_t witness = 1;
inline constexpr std::uint16_t reused_address = 2;
inline constexpr std::uint16_t migrated = 4;
}  // namespace block_flag

/// The header, byte for byte as in the file.
struct BlockHeader {
    std::array<char, 4> magic{'S', 'P', 'B', '1'};
    std::uint16_t header_bytes = 128;
    std::uint16_t version = block_version;
    std::uint32_t cell = 0;
    std::uint32_t launch = 0;
    std::uint32_t rank = 0;
    Phase phase = Phase::init;
    std::uint8_t columns = 1;
    std::uint16_t flags = 0;
    std::uint32_t batch = 1;
    std::uint32_t allocation = 0;
    std::uint64_t n = 0;
    std::int64_t t0_ns = 0;
    std::uint64_t seq0 = 0;
    std::int64_t minor_faults = 0;
    std::int64_t major_faults = 0;
    std::int64_t user_time_ns = 0;
    std::int64_t system_time_ns = 0;
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;
    std::int32_t cpu_begin = -1;
    std::int32_t cpu_end = -1;
    std::uint64_t part = 0;  ///< which part of an operation the samples span; 0: the whole
    std::uint32_t payload_crc = 0;
    std::uint32_t header_crc = 0;
};
static_assert(sizeof(BlockHeader) == 128);

struct BlockField {
    std::string_view name;
    std::size_t offset;
    std::size_t bytes;
};

/// Every field of the header in order; `describe --json` prints it and Python compares it with
/// schema/block.json.
std::span<const BlockField> block_fields();

/// Append one whole block.
/// @param header columns, n and both checksums are set here.
/// @param durations_ns int64[n].  @param begins_ns empty, or int64[n] on the clock of t0_ns; stored relative
/// to t0_ns.
void append_block(std::vector<std::byte>& to, BlockHeader header, std::span<const std::int64_t> durations_ns,
                  std::span<const std::int64_t> begins_ns = {});

struct Block {
    BlockHeader header;
    std::vector<std::int64_t> durations_ns;
    std::vector<std::int64_t> starts_ns;  ///< relative to t0_ns; empty when the block has no such column
};

/// Take the first block off `rest`; nullopt at a torn or damaged tail.
std::optional<Block> take_block(std::span<const std::byte>& rest);

// CRC-32 as in zlib, gzip and IEEE 802.3: reflected polynomial 0xEDB88320.

/// @param before Checksum of what came earlier, 0 at the start.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

// Where a timed region puts its times: allocated and written once before it, so that storing is one store.

class Samples {
  public:
    /// Forget the old samples and make room.
    /// @param capacity Calls of add() at most; the memory is written here, so that no page fault comes later.
    void start(std::size_t capacity) {
        size_ = 0;
        if (capacity <= durations_ns_.size()) return;
        durations_ns_.assign(capacity, -1);
        begins_ns_.assign(capacity, -1);
    }

    void add(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
        durations_ns_[size_] = end_ns - begin_ns;
        begins_ns_[size_] = begin_ns;
        ++size_;
    }
    std::size_t size() const noexcept { return size_; }
    std::span<const std::int64_t> durations_ns() const { return {durations_ns_.data(), size_}; }
    std::span<const std::int64_t> begins_ns() const { return {begins_ns_.data(), size_}; }

  private:
    std::vector<std::int64_t> durations_ns_;
    std::vector<std::int64_t> begins_ns_;
    std::size_t size_ = 0;
};

}  // namespace slowpath
