// SPDX-License-Identifier: Apache-2.0
/// What stands in for the view of buffers and datatypes: no MPI, no memory.
#include "watch/buffers.hpp"
#include "watch/datatypes.hpp"
#include "watch/library.hpp"

namespace slowpath::watch {

[[gnu::weak]] BufferView view_buffer(const void*, std::size_t) {
    return {};
}

[[gnu::weak]] DatatypeView view_datatype(Word handle) {
    static void* const type_size = function("Type_size");
    int bytes = 1;
    DatatypeView view;
    if (type_size != nullptr && call(type_size, handle, reinterpret_cast<Word>(&bytes)) == 0 && bytes > 0)
        view.bytes = static_cast<std::uint64_t>(bytes);
    return view;
}

[[gnu::weak]] void datatype_freed(Word) {}

}  // namespace slowpath::watch
