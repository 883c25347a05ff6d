// SPDX-License-Identifier: Apache-2.0
/// What reductions made of others share. All ranks pass the same count, datatype and op (MPI-4.1
/// section 6.9), so that elements may be cut into blocks.
#pragma once

#include <algorithm>
#include <vector>

#include "mockups/layout.hpp"

namespace slowpath::mockups {

/// The elements that this rank gives.
inline const void* input_of(const Arguments& a) {
    return a.send == MPI_IN_PLACE ? a.receive : a.send;
}

/// A vector of elements in as many blocks as there are ranks, the first ones an element longer.
struct Blocks {
    Blocks(int elements, int size) {
        for (int rank = 0, from = 0; rank < size; ++rank) {
            counts.push_back(elements / size + (rank < elements % size ? 1 : 0));
            displacements.push_back(from);
            from += counts.back();
        }
    }
    std::vector<int> counts;
    std::vector<int> displacements;
};

/// A vector of elements in equal blocks: what is missing in the last ones are copies of an element that the
/// user gave, which every op can bear.
struct EqualBlocks {
    const void* data = nullptr;
    int block = 0;  ///< elements
    bool is_padded = false;
};

inline int equal_blocks(const Arguments& a, Workspace& workspace, int size, EqualBlocks& made) {
    made.data = input_of(a);
    made.block = (a.receive_count + size - 1) / size;
    const int elements = made.block * size;
    made.is_padded = elements != a.receive_count;
    if (!made.is_padded) return MPI_SUCCESS;
    void* const longer = room_for(workspace, Scratch::input, elements, a.receive_type);
    int code = copy(workspace, made.data, longer, a.receive_count, a.receive_type);
    for (int i = a.receive_count; i < elements && code == MPI_SUCCESS; ++i)
        code = copy(workspace, made.data, element(longer, i, a.receive_type), 1, a.receive_type);
    made.data = longer;
    return code;
}

}  // namespace slowpath::mockups
