// SPDX-License-Identifier: Apache-2.0
// The layers, called through libslowpath-layers.so.
#include "layers/burst.hpp"
#include "layers/library.hpp"

namespace slowpath::layers {
namespace {

void flush(const Burst& burst) {
    slowpath_flush(burst.window);
}

template <class Puts>
constexpr Design called(std::string_view name, std::string_view meaning, bool checked, bool takes_datatypes) {
    return {name, meaning, Call::library, checked, in_all_orders<Puts>(), flush, takes_datatypes};
}

constexpr std::array all = {
    called<FullPuts<slowpath_put_complex>>("complex", meaning_of::complex, true, true),
    called<FullPuts<slowpath_put_complex_unchecked>>("complex", meaning_of::complex, false, true),
    called<FullPuts<slowpath_put_simple>>("simple", meaning_of::simple, true, true),
    called<FullPuts<slowpath_put_simple_unchecked>>("simple", meaning_of::simple, false, true),
    called<SmallPuts<slowpath_put_small_args, false>>("small_args", meaning_of::small_args, true, false),
    called<SmallPuts<slowpath_put_small_args_unchecked, false>>("small_args", meaning_of::small_args, false,
                                                                false),
    called<ShmemPuts<slowpath_shmem_put_checked, false>>("shmem_put", meaning_of::shmem_put, true, false),
    called<ShmemPuts<slowpath_shmem_put, false>>("shmem_put", meaning_of::shmem_put, false, false),
    called<ShmemWords<slowpath_shmem_p_checked>>("shmem_p", meaning_of::shmem_p, true, false),
    called<ShmemWords<slowpath_shmem_p>>("shmem_p", meaning_of::shmem_p, false, false),
};

}  // namespace

std::span<const Design> called_designs() {
    return all;
}

}  // namespace slowpath::layers
