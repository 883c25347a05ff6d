// SPDX-License-Identifier: Apache-2.0
#include "watch/datatypes.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "watch/file.hpp"
#include "watch/library.hpp"
#include "watch/lock.hpp"

namespace slowpath::watch {
namespace {

/// Types of types.
constexpr int most_depth = 32;

TypeLayout layout_at(Word handle, int depth);

/// Numbers and parts of a type while its layout is made of them.
class Reader {
  public:
    Reader(const Contents& contents, int depth) : contents_(contents), depth_(depth) {}

    std::int64_t number(std::uint64_t i) const { return contents_.number(i); }
    std::uint64_t numbers() const { return contents_.numbers(); }

    /// The last one is kept: most types are made of one.
    const TypeLayout& part(std::uint64_t i) {
        const Word handle = contents_.type(i);
        if (handle != kept_handle_ || !has_kept_) {
            kept_ = layout_at(handle, depth_ + 1);
            kept_handle_ = handle;
            has_kept_ = true;
        }
        return kept_;
    }

    const Contents& contents() const { return contents_; }

  private:
    const Contents& contents_;
    int depth_;
    bool has_kept_ = false;
    Word kept_handle_ = 0;
    TypeLayout kept_;
};

Flat copies(const TypeLayout& part, std::int64_t count) {
    return repeated(part.flat, count, part.extent_bytes);
}

Flat vector(Reader& from, bool is_stride_in_bytes) {
    const TypeLayout& part = from.part(0);
    const std::int64_t stride = from.number(2) * (is_stride_in_bytes ? 1 : part.extent_bytes);
    return repeated(copies(part, from.number(1)), from.number(0), stride);
}

/// @param length Of the i-th block, in elements.  @param place Of it, in bytes.
template <typename Length, typename Place>
Flat listed(const TypeLayout& part, std::uint64_t count, const Length& length, const Place& place) {
    const Flat& flat = part.flat;
    const bool is_plain =
        flat.is_known && flat.blocks == 1 && flat.bytes == part.extent_bytes && flat.bytes <= INT32_MAX;
    Flat sum;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (is_plain && length(i) <= INT32_MAX)
            append(sum, {flat.begin + place(i), length(i) * flat.bytes});
        else
            sum = sum + shifted(copies(part, length(i)), place(i));
    }
    return sum;
}

/// count, lengths, then places.
Flat indexed(Reader& from, bool are_places_in_bytes) {
    const TypeLayout& part = from.part(0);
    const std::int64_t unit = are_places_in_bytes ? 1 : part.extent_bytes;
    const auto count = static_cast<std::uint64_t>(from.number(0));
    return listed(
        part, count, [&](std::uint64_t i) { return from.number(1 + i); },
        [&](std::uint64_t i) { return from.number(1 + count + i) * unit; });
}

/// count, the length of all, then places.
Flat indexed_block(Reader& from, bool are_places_in_bytes) {
    const TypeLayout& part = from.part(0);
    const std::int64_t unit = are_places_in_bytes ? 1 : part.extent_bytes;
    const std::int64_t length = from.number(1);
    return listed(
        part, static_cast<std::uint64_t>(from.number(0)), [&](std::uint64_t) { return length; },
        [&](std::uint64_t i) { return from.number(2 + i) * unit; });
}

Flat structure(Reader& from) {
    const auto count = static_cast<std::uint64_t>(from.number(0));
    Flat sum;
    for (std::uint64_t i = 0; i < count; ++i)
        sum = sum + shifted(copies(from.part(i), from.number(1 + i)), from.number(1 + count + i));
    return sum;
}

/// MPI-4.1, section 5.1.3: from the dimension whose elements are neighbours to the one with the largest
/// stride.
Flat subarray(Reader& from) {
    const Contents& contents = from.contents();
    const auto dimensions = static_cast<std::uint64_t>(contents.plain(0));
    const TypeLayout& part = from.part(0);
    const bool is_fortran = contents.is_fortran_order(contents.last_plain());
    Flat flat = part.flat;
    std::int64_t step = part.extent_bytes, begin = 0;
    for (std::uint64_t i = 0; i < dimensions; ++i) {
        const std::uint64_t at = is_fortran ? i : dimensions - 1 - i;
        const std::int64_t size = contents.long_number(at);
        flat = repeated(flat, contents.long_number(dimensions + at), step);
        begin += contents.long_number(2 * dimensions + at) * step;
        step *= size;
    }
    return shifted(flat, begin);
}

Flat made_of(Combiner combiner, Reader& from) {
    switch (combiner) {
        case Combiner::dup:
        case Combiner::resized:
            return from.part(0).flat;
        case Combiner::contiguous:
            return copies(from.part(0), from.number(0));
        case Combiner::vector:
            return vector(from, false);
        case Combiner::hvector:
            return vector(from, true);
        case Combiner::indexed:
            return indexed(from, false);
        case Combiner::hindexed:
            return indexed(from, true);
        case Combiner::indexed_block:
            return indexed_block(from, false);
        case Combiner::hindexed_block:
            return indexed_block(from, true);
        case Combiner::structure:
            return structure(from);
        case Combiner::subarray:
            return subarray(from);
        case Combiner::named:
        case Combiner::darray:
        case Combiner::other:
            return unknown_layout();
    }
    return unknown_layout();
}

/// A type that MPI itself has: one block, but for MPI_SHORT_INT, which is the only pair with a gap inside on
/// LP64.
Flat predefined(const TypeFacts& facts) {
    if (facts.bytes < 0 || facts.true_bytes < 0) return unknown_layout();
    if (facts.bytes == facts.true_bytes) return one_block(facts.true_begin, facts.bytes);
    if (facts.bytes == 6 && facts.true_bytes == 8)
        return one_block(facts.true_begin, 2) + one_block(facts.true_begin + 4, 4);
    return unknown_layout();
}

TypeLayout layout_at(Word handle, int depth) {
    TypeLayout layout;
    const TypeFacts facts = facts_of(handle);
    layout.bytes = facts.bytes;
    layout.extent_bytes = facts.extent_bytes;
    layout.flat = unknown_layout();
    if (facts.bytes < 0 || depth > most_depth) return layout;
    Contents contents(handle);
    layout.is_named = contents.is_predefined();
    if (facts.bytes == 0) {
        layout.flat = Flat{};
    } else if (layout.is_named) {
        layout.flat = predefined(facts);
    } else if (contents.read()) {
        Reader reader(contents, depth);
        layout.flat = made_of(contents.combiner(), reader);
        // Lengths must add up to what MPI says. Its true extent is no such test: MPICH counts blocks of no
        // bytes.
        if (layout.flat.bytes != facts.bytes) layout.flat = unknown_layout();
    }
    return layout;
}

}  // namespace

TypeLayout layout_of(Word handle) {
    return layout_at(handle, 0);
}

namespace {

constexpr std::uint64_t most_numbers = std::uint64_t{1} << 20;
constexpr std::int64_t undefined_size = -1;

/// The functions of MPI that are asked here. The forms with MPI_Count came with MPI 3 (_x) and 4 (_c).
struct Functions {
    void* size_c = function("Type_size_c");
    void* size_x = function("Type_size_x");
    void* size = function("Type_size");
    void* extent_c = function("Type_get_extent_c");
    void* extent = function("Type_get_extent");
    void* true_extent_c = function("Type_get_true_extent_c");
    void* true_extent = function("Type_get_true_extent");
    void* envelope_c = function("Type_get_envelope_c");
    void* contents_c = function("Type_get_contents_c");
    void* envelope = function("Type_get_envelope");
    void* contents = function("Type_get_contents");
    void* free = function("Type_free");
};

const Functions& functions() {
    static const Functions all;
    return all;
}

std::int64_t size_of(Word handle) {
    const Functions& mpi = functions();
    std::int64_t bytes = -1;
    int plain = -1;
    if (void* const wide = mpi.size_c != nullptr ? mpi.size_c : mpi.size_x)
        return call(wide, handle, &bytes) == 0 && bytes >= 0 ? bytes : undefined_size;
    return mpi.size != nullptr && call(mpi.size, handle, &plain) == 0 && plain >= 0 ? plain : undefined_size;
}

/// MPI_Aint and MPI_Count are 8 bytes.
bool extent_of(void* count_form, void* form, Word handle, std::int64_t& lower, std::int64_t& extent) {
    void* const ask = count_form != nullptr ? count_form : form;
    return ask != nullptr && call(ask, handle, &lower, &extent) == 0;
}

/// MPI_COMBINER_ of MPICH and its kin by number, from 1 (mpi.h); Open MPI has the same order from 0. The
/// _INTEGER forms of Fortran's first binding have the contents of the others.
constexpr Combiner mpich_combiners[] = {
    Combiner::other,     Combiner::named,    Combiner::dup,           Combiner::contiguous,
    Combiner::vector,    Combiner::hvector,  Combiner::hvector,       Combiner::indexed,
    Combiner::hindexed,  Combiner::hindexed, Combiner::indexed_block, Combiner::structure,
    Combiner::structure, Combiner::subarray, Combiner::darray,        Combiner::other,
    Combiner::other,     Combiner::other,    Combiner::resized,       Combiner::hindexed_block,
};
constexpr std::uint32_t mpich_f90 = 15;  // MPI_COMBINER_F90_REAL, _COMPLEX, _INTEGER

/// MPI-5.0's ABI, from MPI_COMBINER_NAMED on.
constexpr std::uint32_t abi_named = 101, abi_f90 = 113;
// MPI_ORDER_FORTRAN
constexpr std::int64_t mpich_fortran = 57, openmpi_fortran = 1, abi_fortran = 15;
constexpr Combiner abi_combiners[] = {
    Combiner::named,          Combiner::dup,       Combiner::contiguous, Combiner::vector,
    Combiner::hvector,        Combiner::indexed,   Combiner::hindexed,   Combiner::indexed_block,
    Combiner::hindexed_block, Combiner::structure, Combiner::subarray,   Combiner::darray,
    Combiner::other,          Combiner::other,     Combiner::other,      Combiner::resized,
};

template <std::size_t length>
Combiner of(const Combiner (&table)[length], std::uint32_t number) {
    return number < length ? table[number] : Combiner::other;
}

Combiner combiner_of(std::uint32_t number) {
    switch (library().interface) {
        case Interface::mpich:
            return of(mpich_combiners, number);
        case Interface::openmpi:
            return of(mpich_combiners, number + 1);
        case Interface::abi:
            return of(abi_combiners, number - abi_named);
        case Interface::unknown:
            return Combiner::other;
    }
    return Combiner::other;
}

/// Room for contents that nobody uses now: to map it takes as long as to make ten types.
constinit std::atomic<char*> spare{nullptr};
constexpr std::size_t spare_bytes = 4096;

/// Fortran's types by precision are MPI's own, too.
bool is_f90(std::uint32_t number) {
    const Interface interface = library().interface;
    const std::uint32_t first = interface == Interface::mpich     ? mpich_f90
                                : interface == Interface::openmpi ? mpich_f90 - 1
                                                                  : abi_f90;
    return number >= first && number < first + 3;
}

}  // namespace

TypeFacts facts_of(Word handle) {
    const Functions& mpi = functions();
    TypeFacts facts;
    std::int64_t lower = 0;
    facts.bytes = size_of(handle);
    if (facts.bytes < 0) return facts;
    if (!extent_of(mpi.extent_c, mpi.extent, handle, lower, facts.extent_bytes)) facts.bytes = undefined_size;
    if (!extent_of(mpi.true_extent_c, mpi.true_extent, handle, facts.true_begin, facts.true_bytes))
        facts.true_bytes = undefined_size;
    return facts;
}

Contents::Contents(Word handle) : handle_(handle) {
    const Functions& mpi = functions();
    int combiner = 0;
    if (mpi.envelope_c != nullptr && mpi.contents_c != nullptr) {
        has_envelope_ = call(mpi.envelope_c, handle, &plain_count_, &address_count_, &large_count_,
                             &type_count_, &combiner) == 0;
    } else if (mpi.envelope != nullptr && mpi.contents != nullptr) {
        int plain = 0, addresses = 0, types = 0;
        has_envelope_ = call(mpi.envelope, handle, &plain, &addresses, &types, &combiner) == 0;
        plain_count_ = static_cast<std::uint64_t>(plain);
        address_count_ = static_cast<std::uint64_t>(addresses);
        type_count_ = static_cast<std::uint64_t>(types);
    }
    if (!has_envelope_) return;
    combiner_ = combiner_of(static_cast<std::uint32_t>(combiner));
    is_predefined_ = combiner_ == Combiner::named || is_f90(static_cast<std::uint32_t>(combiner));
}

bool Contents::make_room() {
    const std::size_t handle_bytes = library().is_handle_pointer ? sizeof(Word) : sizeof(std::uint32_t);
    const std::size_t bytes = (address_count_ + large_count_) * sizeof(std::int64_t) +
                              type_count_ * handle_bytes + plain_count_ * sizeof(int) + sizeof(Word);
    char* room = small_room_;
    if (bytes > sizeof small_room_) {
        room_bytes_ = bytes > spare_bytes ? bytes : spare_bytes;
        room = bytes > spare_bytes ? nullptr : spare.exchange(nullptr);
        // Not through the C library: its mmap is watched.
        if (room == nullptr)
            room = reinterpret_cast<char*>(syscall(SYS_mmap, nullptr, room_bytes_, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (room == MAP_FAILED) return false;
        room_ = room;
    }
    addresses_ = reinterpret_cast<std::int64_t*>(room);
    large_ = addresses_ + address_count_;
    types_ = large_ + large_count_;
    // Behind handles of 4 bytes an int is at home as well.
    plain_ = reinterpret_cast<int*>(static_cast<char*>(types_) + type_count_ * handle_bytes);
    return true;
}

/// Whether a combiner that counts its own list has all of it: what is not as the standard says is not read.
bool Contents::is_complete() const {
    if (combiner_ == Combiner::other || combiner_ == Combiner::darray || type_count_ == 0) return false;
    if (combiner_ == Combiner::dup) return true;
    if (combiner_ == Combiner::subarray) {
        if (plain_count_ == 0 || plain(0) < 1) return false;
        const auto wanted = 3 * static_cast<std::uint64_t>(plain(0));
        return large_count_ != 0 ? large_count_ == wanted && plain_count_ == 2 : plain_count_ == wanted + 2;
    }
    if (numbers() == 0) return false;
    const auto count = static_cast<std::uint64_t>(number(0));
    switch (combiner_) {
        case Combiner::contiguous:
            return numbers() == 1;
        case Combiner::resized:
            return numbers() == 2;
        case Combiner::vector:
        case Combiner::hvector:
            return numbers() == 3;
        case Combiner::indexed_block:
        case Combiner::hindexed_block:
            return numbers() == 2 + count;
        case Combiner::structure:
            return numbers() == 1 + 2 * count && type_count_ == count;
        default:
            return numbers() == 1 + 2 * count;
    }
}

bool Contents::read() {
    const Functions& mpi = functions();
    const bool is_readable = combiner_ != Combiner::other && combiner_ != Combiner::darray;
    if (!has_envelope_ || is_predefined_ || !is_readable ||
        plain_count_ + address_count_ + large_count_ + type_count_ > most_numbers || !make_room())
        return false;
    const int code =
        mpi.envelope_c != nullptr && mpi.contents_c != nullptr
            ? call(mpi.contents_c, handle_, plain_count_, address_count_, large_count_, type_count_, plain_,
                   addresses_, large_, types_)
            : call(mpi.contents, handle_, static_cast<int>(plain_count_), static_cast<int>(address_count_),
                   static_cast<int>(type_count_), plain_, addresses_, types_);
    is_read_ = code == 0;
    return is_read_ && is_complete();
}

Word Contents::type(std::uint64_t i) const {
    return library().handle_at(types_, i);
}

bool Contents::is_fortran_order(std::int64_t order) const {
    switch (library().interface) {
        case Interface::openmpi:
            return order == openmpi_fortran;
        case Interface::abi:
            return order == abi_fortran;
        default:
            return order == mpich_fortran;
    }
}

Contents::~Contents() {
    const Functions& mpi = functions();
    for (std::uint64_t i = 0; is_read_ && i < type_count_; ++i) {
        Word part = type(i);
        if (!Contents(part).is_predefined() && mpi.free != nullptr) call(mpi.free, &part);
    }
    if (room_bytes_ == spare_bytes) room_ = spare.exchange(room_);
    if (room_ != nullptr) syscall(SYS_munmap, room_, room_bytes_);
}

namespace {

/// Known handles: open addressing. A reader takes no lock: what stands behind a key does not change as long
/// as the key's type lives, and a program does not use a type while it frees it.
struct Known {
    std::atomic<Word> handle;  ///< or empty, or gone
    DatatypeView view;
};
constexpr Word empty = 0, gone = 1;
constexpr std::size_t known_size = std::size_t{1} << 13;
constexpr std::size_t most_tries = 64;
constinit Known known[known_size] = {};

constinit SpinLock lock;

/// Rows by their content: row + 1, or 0.
constexpr std::size_t shared_size = std::size_t{1} << 17;
constinit std::uint32_t shared[shared_size] = {};

std::size_t home(Word handle) {
    return static_cast<std::size_t>((std::uint64_t{handle} * 0x9e3779b97f4a7c15) >> 51);
}

const Known* find(Word handle) {
    for (std::size_t i = 0, at = home(handle); i < most_tries; ++i, at = (at + 1) % known_size) {
        const Word here = known[at].handle.load(std::memory_order_acquire);
        if (here == handle) return &known[at];
        if (here == empty) break;
    }
    return nullptr;
}

void keep(Word handle, const DatatypeView& view) {
    const Guard guard(lock);
    if (!guard.held() || find(handle) != nullptr) return;
    for (std::size_t i = 0, at = home(handle); i < most_tries; ++i, at = (at + 1) % known_size) {
        const Word here = known[at].handle.load(std::memory_order_relaxed);
        if (here != empty && here != gone) continue;
        known[at].view = view;
        known[at].handle.store(handle, std::memory_order_release);
        return;
    }
}

enum Shape : std::uint32_t { one_piece = 1, one_stride = 2, irregular = 3, not_known = 4 };

layout::Datatype row_of(const TypeLayout& layout) {
    layout::Datatype row{};
    row.bytes = layout.bytes < 0 ? 0 : static_cast<std::uint64_t>(layout.bytes);
    row.extent_bytes = layout.extent_bytes;
    row.shape = not_known;
    const Flat& flat = layout.flat;
    if (!flat.is_known) return row;
    row.blocks = flat.blocks;
    if (flat.blocks == 0) {
        row.shape = one_piece;
        return row;
    }
    const bool is_dense = flat.blocks == 1 && layout.extent_bytes == layout.bytes;
    row.shape = is_dense ? one_piece : flat.is_regular() ? one_stride : irregular;
    return row;
}

/// A row that another type of this layout may have made. The last one is for all that find no room: of a
/// layout that is not known.
std::uint16_t keep_row(const layout::Datatype& row) {
    const Guard guard(lock);
    Section<layout::Datatype>& rows = sections().datatypes;
    if (!guard.held() || rows.capacity() == 0) return contiguous;
    std::uint64_t hash = 0;
    std::uint64_t words[sizeof row / 8];
    std::memcpy(words, &row, sizeof row);
    for (const std::uint64_t word : words) hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    std::size_t at = hash >> 47;
    for (; shared[at] != 0; at = (at + 1) % shared_size)
        if (shared[at] <= rows.used() && std::memcmp(&rows[shared[at] - 1], &row, sizeof row) == 0)
            return static_cast<std::uint16_t>(shared[at] - 1);
    const std::uint32_t last = rows.capacity() - 1;
    if (rows.used() >= last) {
        rows.lose(1);
        if (rows.used() > last) return static_cast<std::uint16_t>(last);
        rows[last] = {};
        rows[last].shape = not_known;
        return static_cast<std::uint16_t>(rows.publish());
    }
    rows[rows.used()] = row;
    shared[at] = rows.used() + 1;
    return static_cast<std::uint16_t>(rows.publish());
}

[[gnu::noinline]] DatatypeView flatten(Word handle) {
    DatatypeView view;
    const TypeLayout layout = layout_of(handle);
    if (layout.bytes < 0) return view;
    const layout::Datatype row = row_of(layout);
    view.bytes = row.bytes;
    view.extent_bytes = row.extent_bytes;
    view.has_gaps = row.shape != one_piece;
    if (view.has_gaps) view.row = keep_row(row);
    keep(handle, view);
    return view;
}

}  // namespace

DatatypeView view_datatype(Word word) {
    const Word handle = library().handle(word);
    if (const Known* const here = find(handle)) return here->view;
    if (handle == empty || handle == gone || handle == library().handle(library().datatype_null)) {
        DatatypeView none;
        none.bytes = 0;
        return none;
    }
    return flatten(handle);
}

void datatype_freed(Word word) {
    const Guard guard(lock);
    if (!guard.held()) return;
    if (const Known* const here = find(library().handle(word)))
        known[here - known].handle.store(gone, std::memory_order_release);
}

}  // namespace slowpath::watch
