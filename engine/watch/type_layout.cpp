// SPDX-License-Identifier: Apache-2.0
#include "watch/type_layout.hpp"

#include "watch/library.hpp"
#include "watch/type_contents.hpp"

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

/// count, then lengths, then places.
Flat indexed(Reader& from, bool are_places_in_bytes) {
    const TypeLayout& part = from.part(0);
    const std::int64_t unit = are_places_in_bytes ? 1 : part.extent_bytes;
    const auto count = static_cast<std::uint64_t>(from.number(0));
    Flat sum;
    for (std::uint64_t i = 0; i < count; ++i)
        sum = sum + shifted(copies(part, from.number(1 + i)), from.number(1 + count + i) * unit);
    return sum;
}

/// count, the length of all, then places.
Flat indexed_block(Reader& from, bool are_places_in_bytes) {
    const TypeLayout& part = from.part(0);
    const std::int64_t unit = are_places_in_bytes ? 1 : part.extent_bytes;
    const auto count = static_cast<std::uint64_t>(from.number(0));
    const Flat block = copies(part, from.number(1));
    Flat sum;
    for (std::uint64_t i = 0; i < count; ++i) sum = sum + shifted(block, from.number(2 + i) * unit);
    return sum;
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
    layout.combiner = contents.interface_combiner();
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

}  // namespace slowpath::watch
