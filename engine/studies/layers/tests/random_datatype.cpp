// SPDX-License-Identifier: Apache-2.0
#include "layers/tests/random_datatype.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace slowpath::layers::test {
namespace {

/// Which constructor, and its arguments, before it is made twice.
struct Lists {
    std::vector<std::int64_t> lengths;
    std::vector<std::int64_t> displacements;
    std::vector<int> lengths_as_int;
    std::vector<int> displacements_as_int;
    std::vector<MPI_Aint> displacements_as_address;
    std::string text;

    void add(std::int64_t length, std::int64_t displacement) {
        lengths.push_back(length);
        displacements.push_back(displacement);
        lengths_as_int.push_back(static_cast<int>(length));
        displacements_as_int.push_back(static_cast<int>(displacement));
        displacements_as_address.push_back(displacement);
        text += (text.empty() ? "" : " ") + std::to_string(length) + "@" + std::to_string(displacement);
    }
    int size() const { return static_cast<int>(lengths.size()); }
};

Pair predefined(Random& random) {
    const std::array<MPI_Datatype, 5> theirs = {MPI_BYTE, MPI_INT16_T, MPI_INT32_T, MPI_DOUBLE,
                                                MPI_C_DOUBLE_COMPLEX};
    const auto which = static_cast<std::size_t>(random.between(0, 4));
    Pair made{predefined_datatypes[which], theirs[which], {}, "bytes_" + std::to_string(1 << which)};
    for (int byte = 0; byte < 1 << which; ++byte) made.map.push_back(byte);
    return made;
}

bool is_disjoint(std::vector<std::int64_t> map) {
    std::sort(map.begin(), map.end());
    return std::adjacent_find(map.begin(), map.end()) == map.end();
}

void resize(Pair& pair, std::int64_t lb_bytes, std::int64_t extent_bytes) {
    Pair old = pair;
    pair.ours = resized(old.ours, lb_bytes, extent_bytes);
    MPI_Type_create_resized(old.theirs, lb_bytes, extent_bytes, &pair.theirs);
    pair.made =
        "resized(" + std::to_string(lb_bytes) + ", " + std::to_string(extent_bytes) + ", " + old.made + ")";
    free_pair(old);
}

void agree_on_bounds(Pair& pair) {
    MPI_Aint lb_bytes = 0;
    MPI_Aint extent_bytes = 0;
    MPI_Type_get_extent(pair.theirs, &lb_bytes, &extent_bytes);
    const TypeRecord& record = record_of(pair.ours);
    if (record.lb_bytes == lb_bytes && record.extent_bytes == extent_bytes) {
        ++bounds_that_agreed;
        return;
    }
    ++bounds_that_differed;
    resize(pair, lb_bytes, extent_bytes);
}

Lists random_lists(Random& random, std::int64_t unit) {
    Lists lists;
    const std::int64_t count = random.between(0, 4);
    std::int64_t at = random.between(-3, 3) * unit;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t length = random.between(0, 3);
        lists.add(length, at);
        at += random.one_in(4) ? random.between(-40, 60) * unit : (length + random.between(0, 3)) * unit;
    }
    return lists;
}

Pair make_contiguous(Random& random, const Pair& old) {
    const std::int64_t count = random.between(0, 5);
    Pair made{contiguous(count, old.ours),
              MPI_DATATYPE_NULL,
              {},
              "contiguous(" + std::to_string(count) + ", " + old.made + ")"};
    made.append(count, 0, old);
    MPI_Type_contiguous(static_cast<int>(count), old.theirs, &made.theirs);
    return made;
}

Pair make_vector(Random& random, const Pair& old, bool in_bytes) {
    const std::int64_t count = random.between(0, 4);
    const std::int64_t length = random.between(0, 3);
    const std::int64_t unit =
        in_bytes ? std::max<std::int64_t>(1, std::abs(record_of(old.ours).extent_bytes)) : 1;
    const std::int64_t stride = random.between(-5, 6) * unit + (in_bytes ? random.between(0, 9) : 0);
    Pair made;
    made.made = (in_bytes ? "hvector(" : "vector(") + std::to_string(count) + ", " + std::to_string(length) +
                ", " + std::to_string(stride) + ", " + old.made + ")";
    const std::int64_t stride_bytes = in_bytes ? stride : stride * old.extent_bytes();
    for (std::int64_t i = 0; i < count; ++i) made.append(length, i * stride_bytes, old);
    const int counts[] = {static_cast<int>(count), static_cast<int>(length)};
    if (in_bytes) {
        made.ours = hvector(count, length, stride, old.ours);
        MPI_Type_create_hvector(counts[0], counts[1], stride, old.theirs, &made.theirs);
    } else {
        made.ours = vector(count, length, stride, old.ours);
        MPI_Type_vector(counts[0], counts[1], static_cast<int>(stride), old.theirs, &made.theirs);
    }
    return made;
}

Pair make_indexed(Random& random, const Pair& old, bool in_bytes) {
    const Lists lists = random_lists(random, in_bytes ? random.between(1, 24) : 1);
    Pair made;
    made.made = (in_bytes ? "hindexed(" : "indexed(") + lists.text + ", " + old.made + ")";
    for (std::size_t i = 0; i < lists.lengths.size(); ++i)
        made.append(lists.lengths[i], lists.displacements[i] * (in_bytes ? 1 : old.extent_bytes()), old);
    if (in_bytes) {
        made.ours = hindexed(lists.lengths, lists.displacements, old.ours);
        MPI_Type_create_hindexed(lists.size(), lists.lengths_as_int.data(),
                                 lists.displacements_as_address.data(), old.theirs, &made.theirs);
    } else {
        made.ours = indexed(lists.lengths, lists.displacements, old.ours);
        MPI_Type_indexed(lists.size(), lists.lengths_as_int.data(), lists.displacements_as_int.data(),
                         old.theirs, &made.theirs);
    }
    return made;
}

Pair make_structure(Random& random, int depth, std::int64_t most_bytes, bool disjoint) {
    const Lists lists = random_lists(random, random.between(1, 40));
    std::vector<Pair> olds;
    std::vector<Datatype> ours;
    std::vector<MPI_Datatype> theirs;
    Pair made;
    made.made = "structure(" + lists.text;
    for (int i = 0; i < lists.size(); ++i) {
        olds.push_back(random_datatype(random, depth - 1, most_bytes / 4, disjoint));
        ours.push_back(olds.back().ours);
        theirs.push_back(olds.back().theirs);
        made.made += ", " + olds.back().made;
        made.append(lists.lengths_as_int[static_cast<std::size_t>(i)],
                    lists.displacements[static_cast<std::size_t>(i)], olds.back());
    }
    made.made += ")";
    made.ours = structure(lists.lengths, lists.displacements, ours);
    MPI_Type_create_struct(lists.size(), lists.lengths_as_int.data(), lists.displacements_as_address.data(),
                           theirs.data(), &made.theirs);
    for (Pair& old : olds) free_pair(old);
    return made;
}

Pair make_resized(Random& random, const Pair& old) {
    Pair made = old;
    const TypeRecord& record = record_of(old.ours);
    const std::int64_t lb_bytes = record.true_lb_bytes + random.between(-9, 9);
    const std::int64_t length_bytes = record.true_ub_bytes - record.true_lb_bytes;
    const std::int64_t extent_bytes =
        random.one_in(4) ? -length_bytes - random.between(0, 9) : length_bytes + random.between(0, 9);
    made.ours = resized(old.ours, lb_bytes, extent_bytes);
    MPI_Type_create_resized(old.theirs, lb_bytes, extent_bytes, &made.theirs);
    made.made =
        "resized(" + std::to_string(lb_bytes) + ", " + std::to_string(extent_bytes) + ", " + old.made + ")";
    return made;
}

Pair random_step(Random& random, int depth, std::int64_t most_bytes, bool disjoint) {
    if (random.one_in(5)) return make_structure(random, depth, most_bytes, disjoint);
    Pair old = random_datatype(random, depth - 1, most_bytes, disjoint);
    Pair made;
    switch (random.between(0, 5)) {
        case 0:
            made = make_contiguous(random, old);
            break;
        case 1:
        case 2:
            made = make_vector(random, old, random.one_in(2));
            break;
        case 3:
        case 4:
            made = make_indexed(random, old, random.one_in(2));
            break;
        default:
            made = make_resized(random, old);
    }
    free_pair(old);
    return made;
}

}  // namespace

Pair random_datatype(Random& random, int depth, std::int64_t most_bytes, bool disjoint) {
    if (depth == 0 || random.one_in(8)) return predefined(random);
    for (;;) {
        Pair made = random_step(random, depth, most_bytes, disjoint);
        const TypeRecord& record = record_of(made.ours);
        // No bytes: MPICH 5.0 divides by the size of a part.
        const bool small = record.size_bytes > 0 && record.size_bytes <= most_bytes &&
                           record.true_ub_bytes - record.true_lb_bytes <= 16 * most_bytes &&
                           std::abs(record.extent_bytes) <= 16 * most_bytes;
        if (small && (!disjoint || is_disjoint(made.map))) {
            agree_on_bounds(made);
            return made;
        }
        free_pair(made);
    }
}

void Pair::append(std::int64_t length, std::int64_t displacement_bytes, const Pair& old) {
    const std::int64_t extent = old.extent_bytes();
    for (std::int64_t i = 0; i < length; ++i)
        for (const std::int64_t offset : old.map) map.push_back(displacement_bytes + i * extent + offset);
}

std::int64_t Pair::extent_bytes() const {
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(theirs, &lb, &extent);
    return extent;
}

void commit_pair(Pair& pair) {
    commit(pair.ours);
    MPI_Type_commit(&pair.theirs);
}

void free_pair(Pair& pair) {
    if (are_predefined(pair.ours)) return;
    free(pair.ours);
    MPI_Type_free(&pair.theirs);
}

}  // namespace slowpath::layers::test
