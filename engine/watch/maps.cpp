// SPDX-License-Identifier: Apache-2.0
#include "watch/maps.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "watch/allocations.hpp"
#include "watch/proc_text.hpp"
#include "watch/ticks.hpp"

namespace slowpath::watch {
namespace {

// From linux/fs.h, which older systems have without these.
struct MapQuery {
    std::uint64_t size, flags, address;
    std::uint64_t begin, end, vma_flags, page_bytes, offset, inode;
    std::uint32_t device_major, device_minor, name_bytes, build_id_bytes;
    std::uint64_t name, build_id;
};
constexpr unsigned long ask_map = _IOWR('f', 17, MapQuery);
constexpr std::uint64_t shared_flag = 8;

struct PageScan {
    std::uint64_t size, flags, begin, end, walked_to, found, room, most_pages;
    std::uint64_t inverted, all_of, any_of, wanted;
};
constexpr unsigned long scan_pages = _IOWR('f', 16, PageScan);
struct PageRange {
    std::uint64_t begin, end, categories;
};
constexpr std::uint64_t page_present = 1 << 3, page_is_zero = 1 << 5, page_huge = 1 << 6;

constexpr std::size_t huge_bytes = std::size_t{2} << 20;
/// Of an allocation, at most: 8192 pages are walked in 50 us.
constexpr std::size_t most_walked_bytes = std::size_t{32} << 20;
constexpr std::uint64_t most_smaps_ns = 20'000'000;

constexpr std::size_t most_stack_bytes = std::size_t{64} << 20;

constinit bool text_only = false;
constinit std::atomic<std::uint64_t> smaps_ns{0};

class ErrnoKept {
  public:
    ErrnoKept() : saved_(errno) {}
    ~ErrnoKept() { errno = saved_; }
    ErrnoKept(const ErrnoKept&) = delete;
    ErrnoKept& operator=(const ErrnoKept&) = delete;

  private:
    int saved_;
};

bool begins(const char* text, const char* with) {
    return std::strncmp(text, with, std::strlen(with)) == 0;
}

/// The segment of a program or library that holds the address: its data, bss included.
struct Segment {
    Address address, begin = 0, end = 0;
};

int find_segment(dl_phdr_info* info, std::size_t, void* data) {
    auto* const wanted = static_cast<Segment*>(data);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        const Address begin = info->dlpi_addr + header.p_vaddr;
        if (header.p_type != PT_LOAD || wanted->address < begin || wanted->address >= begin + header.p_memsz)
            continue;
        wanted->begin = begin;
        wanted->end = begin + header.p_memsz;
        return 1;
    }
    return 0;
}

bool is_named_shared(const char* name) {
    return begins(name, "/dev/shm/") || begins(name, "/memfd:") || begins(name, "/SYSV") ||
           begins(name, "/dev/zero");
}

std::uint16_t kind_of(const KernelMap& map, Address address) {
    const auto frame = reinterpret_cast<Address>(__builtin_frame_address(0));
    if (begins(map.name, "[heap]")) return kind::heap;
    // What lies above this frame in its mapping: a thread's stack has no name, and may touch another mapping.
    const bool is_near = frame >= map.begin && address >= frame && address - frame < most_stack_bytes;
    if (begins(map.name, "[stack") || (is_near && map.name[0] == '\0')) return kind::stack;
    if (map.name[0] == '[' && !begins(map.name, "[anon")) return kind::unknown;
    const bool is_file = map.name[0] == '/' && !begins(map.name, "/anon_hugepage");
    if (is_file && !is_named_shared(map.name) && map.page_bytes <= base_page_bytes()) return kind::file;
    return map.is_shared || is_named_shared(map.name) ? kind::shared : kind::mapping;
}

bool ask_kernel(Address address, KernelMap& map) {
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    MapQuery query{};
    query.size = sizeof query;
    query.address = address;
    query.name = reinterpret_cast<std::uint64_t>(map.name);
    query.name_bytes = sizeof map.name;
    const int code = ioctl(file, ask_map, &query);
    const bool is_hole = code != 0 && errno == ENOENT;
    close(file);
    if (code != 0) return is_hole;
    if (query.name_bytes == 0) map.name[0] = '\0';
    map.begin = query.begin;
    map.end = query.end;
    map.is_shared = (query.vma_flags & shared_flag) != 0;
    map.page_bytes = query.page_bytes;
    return true;
}

/// @return false: this kernel can't.
bool scan(Address begin, Address end, std::uint64_t& huge, std::uint64_t& present) {
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    PageRange found[64];
    PageScan wanted{};
    wanted.size = sizeof wanted;
    wanted.end = end;
    wanted.found = reinterpret_cast<std::uint64_t>(found);
    wanted.room = std::size(found);
    wanted.any_of = page_present;
    wanted.wanted = page_present | page_huge | page_is_zero;
    bool works = true;
    // As long as each answer fills its room: memory that is a patchwork is known well enough by its
    // beginning.
    for (int tries = 0; begin < end && tries < 8; ++tries) {
        wanted.begin = begin;
        const int count = ioctl(file, scan_pages, &wanted);
        works = works && count >= 0;
        for (int i = 0; i < count; ++i) {
            const std::uint64_t bytes = found[i].end - found[i].begin;
            if ((found[i].categories & page_is_zero) != 0) continue;
            present += bytes;
            if ((found[i].categories & page_huge) != 0) huge += bytes;
        }
        if (count < 0 || wanted.walked_to <= begin) break;
        begin = wanted.walked_to;
    }
    close(file);
    return works;
}

std::size_t page_bytes_by_text(Address address) {
    if (smaps_ns.load(std::memory_order_relaxed) > most_smaps_ns) return 0;
    const std::uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    KernelPages pages;
    const bool found = find_in_smaps(address, pages);
    smaps_ns.fetch_add(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns, std::memory_order_relaxed);
    if (!found || pages.present_bytes == 0) return 0;
    if (pages.page_bytes > base_page_bytes()) return pages.page_bytes;
    return pages.huge_bytes * 2 >= pages.present_bytes ? huge_bytes : base_page_bytes();
}

}  // namespace

std::size_t base_page_bytes() {
    static constinit std::atomic<std::size_t> known{0};
    std::size_t bytes = known.load(std::memory_order_relaxed);
    if (bytes == 0) known.store(bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    return bytes;
}

void use_text_only(bool wanted) {
    text_only = wanted;
    smaps_ns = 0;
}

Region region_of(Address address) {
    const ErrnoKept kept;
    KernelMap map;
    if ((text_only || !ask_kernel(address, map)) && !find_in_maps(address, map)) return {};
    if (map.end == 0) return {};
    Region region{map.begin, map.end, kind_of(map, address), false,
                  map.page_bytes > base_page_bytes() ? map.page_bytes : 0};
    Segment segment{address};
    if (region.kind != kind::stack && region.kind != kind::heap &&
        dl_iterate_phdr(find_segment, &segment) != 0) {
        region.kind = kind::static_data;
        region.begin = std::max(segment.begin, map.begin);
        region.end = std::min(segment.end, map.end);
    }
    region.is_length_known = region.kind == kind::file || region.kind == kind::shared;
    return region;
}

std::size_t page_bytes_of(Address begin, Address end) {
    const ErrnoKept kept;
    const Address page = base_page_bytes();
    const Address from = begin & ~(page - 1);
    const Address to = std::min((end + page - 1) & ~(page - 1), from + most_walked_bytes);
    std::uint64_t huge = 0, present = 0;
    if (text_only || !scan(from, to, huge, present)) return page_bytes_by_text(begin);
    if (present == 0) return 0;
    return huge * 2 >= present ? huge_bytes : page;
}

}  // namespace slowpath::watch
