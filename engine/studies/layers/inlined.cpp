// SPDX-License-Identifier: Apache-2.0
// The layers, compiled into the loop that puts.
#include <atomic>

#include "layers/burst.hpp"
#include "layers/complex.hpp"
#include "layers/shmem.hpp"
#include "layers/simple.hpp"
#include "layers/small_args.hpp"

namespace slowpath::layers {
namespace {

void fence(const Burst&) {
    std::atomic_thread_fence(std::memory_order_release);
}

template <class Puts>
constexpr Design inlined(std::string_view name, std::string_view meaning, bool checked,
                         bool takes_datatypes) {
    return {name, meaning, Call::inlined, checked, in_all_orders<Puts>(), fence, takes_datatypes};
}

constexpr std::array all = {
    inlined<FullPuts<put_complex<true>>>("complex", meaning_of::complex, true, true),
    inlined<FullPuts<put_complex<false>>>("complex", meaning_of::complex, false, true),
    inlined<FullPuts<put_simple<true>>>("simple", meaning_of::simple, true, true),
    inlined<FullPuts<put_simple<false>>>("simple", meaning_of::simple, false, true),
    inlined<SmallPuts<put_small_args<true>, true>>("small_args", meaning_of::small_args, true, false),
    inlined<SmallPuts<put_small_args<false>, true>>("small_args", meaning_of::small_args, false, false),
    inlined<ShmemPuts<shmem_put_at<true>, true>>("shmem_put", meaning_of::shmem_put, true, false),
    inlined<ShmemPuts<shmem_put_at<false>, true>>("shmem_put", meaning_of::shmem_put, false, false),
    inlined<ShmemWords<shmem_p_at<true>>>("shmem_p", meaning_of::shmem_p, true, false),
    inlined<ShmemWords<shmem_p_at<false>>>("shmem_p", meaning_of::shmem_p, false, false),
};

}  // namespace

std::span<const Design> inlined_designs() {
    return all;
}

}  // namespace slowpath::layers
