// SPDX-License-Identifier: Apache-2.0
/// The wrappers: for each call of calls.txt a function under its name and one under its profiling name, which
/// take as many words as the call has arguments.
///
/// Both names, because libraries between the program and MPI use both: Open MPI's Fortran bindings call
/// PMPI_, MPICH's call either, and a tool that was preloaded before this library calls PMPI_.
#include "watch/found.hpp"
#include "watch/intercept.hpp"

#define PARAMETERS_0
#define PARAMETERS_1 Word a0
#define PARAMETERS_2 PARAMETERS_1, Word a1
#define PARAMETERS_3 PARAMETERS_2, Word a2
#define PARAMETERS_4 PARAMETERS_3, Word a3
#define PARAMETERS_5 PARAMETERS_4, Word a4
#define PARAMETERS_6 PARAMETERS_5, Word a5
#define PARAMETERS_7 PARAMETERS_6, Word a6
#define PARAMETERS_8 PARAMETERS_7, Word a7
#define PARAMETERS_9 PARAMETERS_8, Word a8
#define PARAMETERS_10 PARAMETERS_9, Word a9
#define PARAMETERS_11 PARAMETERS_10, Word a10
#define PARAMETERS_12 PARAMETERS_11, Word a11
#define PARAMETERS_13 PARAMETERS_12, Word a12
#define PARAMETERS_14 PARAMETERS_13, Word a13
#define PARAMETERS_15 PARAMETERS_14, Word a14
#define PARAMETERS_16 PARAMETERS_15, Word a15
#define WORDS_0
#define WORDS_1 a0
#define WORDS_2 WORDS_1, a1
#define WORDS_3 WORDS_2, a2
#define WORDS_4 WORDS_3, a3
#define WORDS_5 WORDS_4, a4
#define WORDS_6 WORDS_5, a5
#define WORDS_7 WORDS_6, a6
#define WORDS_8 WORDS_7, a7
#define WORDS_9 WORDS_8, a8
#define WORDS_10 WORDS_9, a9
#define WORDS_11 WORDS_10, a10
#define WORDS_12 WORDS_11, a11
#define WORDS_13 WORDS_12, a12
#define WORDS_14 WORDS_13, a13
#define WORDS_15 WORDS_14, a14
#define WORDS_16 WORDS_15, a15

#define WRAPPER(symbol, name, prefix, arguments)                                     \
    int symbol(PARAMETERS_##arguments) {                                             \
        Word words[arguments == 0 ? 1 : arguments] = {WORDS_##arguments};            \
        return intercept(calls::name, Prefix::prefix, words, invoke_with<arguments>, \
                         __builtin_return_address(0), __builtin_frame_address(0));   \
    }
#define SLOWPATH_CALL(name, arguments, ...) \
    WRAPPER(name, name, mpi, arguments)     \
    WRAPPER(P##name, name, pmpi, arguments)

using namespace slowpath::watch;

#pragma GCC visibility push(default)
extern "C" {

#include "watch_calls.inc"

}  // extern "C"
#pragma GCC visibility pop

namespace slowpath::watch {
namespace {

#undef SLOWPATH_CALL
#define SLOWPATH_CALL(name, ...) {reinterpret_cast<void*>(&::name), reinterpret_cast<void*>(&::P##name)},
void* const wrappers[call_count][2] = {
#include "watch_calls.inc"
};

}  // namespace

void* wrapper_of(Prefix prefix, Call call) {
    return wrappers[call][static_cast<std::size_t>(prefix)];
}

}  // namespace slowpath::watch
