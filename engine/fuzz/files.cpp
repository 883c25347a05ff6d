// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <sstream>
#include <vector>

#include "fuzz/targets.hpp"
#include "memory/pages.hpp"
#include "record/block.hpp"
#include "watch/proc_text.hpp"

namespace slowpath::fuzz {
namespace {

/// A file in memory, for readers that open one.
class MemoryFile {
  public:
    MemoryFile() : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
        if (file_ < 0) throw Defect("no memory file");
    }
    void fill(Input input) const {
        if (ftruncate(file_, 0) != 0 ||
            pwrite(file_, input.data(), input.size(), 0) != static_cast<ssize_t>(input.size()))
            throw Defect("the memory file can't be written");
    }
    std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

  private:
    int file_;
};

const MemoryFile& memory_file() {
    static const MemoryFile file;
    return file;
}

/// The first bytes of an input as a number, which is left out of it.
std::uint64_t take_number(Input& input) {
    std::uint64_t number = 0;
    const std::size_t bytes = std::min(input.size(), sizeof number);
    std::memcpy(&number, input.data(), bytes);
    input = input.subspan(bytes);
    return number;
}

/// Each block that is read is in the input byte for byte.
void read_blocks(Input input) {
    std::span<const std::byte> rest = std::as_bytes(input);
    const std::string_view given(reinterpret_cast<const char*>(input.data()), input.size());
    while (const std::optional<Block> block = take_block(rest)) {
        if (block->header.n != block->durations_ns.size()) throw Defect("a block of the wrong length");
        std::string bytes(reinterpret_cast<const char*>(&block->header), sizeof block->header);
        for (const auto* column : {&block->durations_ns, &block->starts_ns})
            bytes.append(reinterpret_cast<const char*>(column->data()),
                         column->size() * sizeof(std::int64_t));
        if (given.find(bytes) == std::string::npos) throw Defect("a block that is not in the file");
    }
}

}  // namespace

/// As it is, and as a hostile writer would seal it: with right checksums.
void read_block(Input input) {
    read_blocks(input);
    BlockHeader header;
    if (input.size() < sizeof header) return;
    std::memcpy(&header, input.data(), sizeof header);
    const auto payload = std::as_bytes(input.subspan(sizeof header));
    const std::uint64_t columns = header.columns == 3 ? 2 : 1;
    const bool fits = header.n <= payload.size() / sizeof(std::int64_t) / columns;
    header.payload_crc = crc32(
        fits ? payload.first(static_cast<std::size_t>(header.n * columns) * sizeof(std::int64_t)) : payload);
    header.header_crc = crc32(std::as_bytes(std::span(&header, 1)).first(offsetof(BlockHeader, header_crc)));
    std::vector<std::uint8_t> sealed(input.begin(), input.end());
    std::memcpy(sealed.data(), &header, sizeof header);
    read_blocks(sealed);
}

/// /proc/self/maps and smaps, as the watching library reads them: it opens the memory file (CMakeLists.txt).
void read_proc_text(Input input) {
    const std::uint64_t address = take_number(input);
    memory_file().fill(input);
    watch::KernelMap map;
    if (watch::find_in_maps(address, map) && map.end != 0 && (address < map.begin || address >= map.end))
        throw Defect("a mapping that does not hold the address");
    if (std::memchr(map.name, '\0', sizeof map.name) == nullptr) throw Defect("a name without an end");
    watch::KernelPages pages;
    watch::find_in_smaps(address, pages);
}

/// /proc/self/smaps, as the engine reads it.
void read_smaps(Input input) {
    const std::uint64_t begin = take_number(input), bytes = take_number(input) >> 20;
    const std::uint64_t end = begin + bytes < begin ? ~0ULL : begin + bytes;
    std::istringstream text(text_of(input));
    const auto areas = memory::parse_smaps(text, begin, end);
    for (const memory::MemoryArea& area : areas)
        if (area.begin >= end || area.end <= begin) throw Defect("an area outside of what was asked for");
    const auto report = memory::judge_pages(areas, begin, end, 4096, std::size_t{2} << 20);
    if (report.pages.empty()) throw Defect("no word for the pages");
}

}  // namespace slowpath::fuzz

/// What `open` is in watch/proc_text.cpp.
extern "C" int slowpath_fuzz_open(const char*, int flags, ...) {
    return open(slowpath::fuzz::memory_file().path().c_str(), flags);
}
