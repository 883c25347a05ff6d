// SPDX-License-Identifier: Apache-2.0
#include "watch/type_contents.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "watch/library.hpp"

namespace slowpath::watch {
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
    interface_combiner_ = static_cast<std::uint32_t>(combiner);
    combiner_ = combiner_of(interface_combiner_);
    is_predefined_ = combiner_ == Combiner::named || is_f90(interface_combiner_);
}

bool Contents::make_room() {
    const std::size_t handle_bytes = library().is_handle_pointer ? sizeof(Word) : sizeof(std::uint32_t);
    const std::size_t bytes = (address_count_ + large_count_) * sizeof(std::int64_t) +
                              type_count_ * handle_bytes + plain_count_ * sizeof(int) + sizeof(Word);
    char* room = small_room_;
    if (bytes > sizeof small_room_) {
        // Not through the C library: its mmap is watched.
        const long got =
            syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (got == -1) return false;
        room = reinterpret_cast<char*>(got);
        room_ = room;
        room_bytes_ = bytes;
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
    if (room_ != nullptr) syscall(SYS_munmap, room_, room_bytes_);
}

}  // namespace slowpath::watch
