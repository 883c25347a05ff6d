// SPDX-License-Identifier: Apache-2.0
/// From a wrapper to the recorder and to the original: the outermost MPI call of a thread is observed, those
/// that MPI makes of itself (bindings, layers, callbacks) go straight through.
#pragma once

#include <utility>

#include "watch/observer.hpp"
#include "watch/originals.hpp"

namespace slowpath::watch {

template <std::size_t... Positions>
[[gnu::always_inline]] inline int invoke(void* target, const Word* words, std::index_sequence<Positions...>) {
    return reinterpret_cast<int (*)(decltype(Word(Positions))...)>(target)(words[Positions]...);
}

template <std::size_t Count>
int invoke_with(void* target, const Word* words) {
    return invoke(target, words, std::make_index_sequence<Count>());
}

using Invoke = int (*)(void* target, const Word* words);

/// @param words As many as the call has arguments.  @param caller The wrapper's return address.
/// @param frame The wrapper's frame.
int intercept(Call call, Prefix prefix, Word* words, Invoke invoke, const void* caller, const void* frame);

}  // namespace slowpath::watch
