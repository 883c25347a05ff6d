// SPDX-License-Identifier: Apache-2.0
#include "watch/call.hpp"

namespace slowpath::watch {
namespace {

template <class... Roles>
constexpr Shape shape(const char* name, Family family, bool is_large, Roles... roles) {
    static_assert(sizeof...(roles) <= most_arguments);
    return {name, family, sizeof...(roles), is_large, {roles...}};
}

using enum Role;

}  // namespace

constinit const Shape shapes[call_count] = {
#define SLOWPATH_CALL(name, arguments, family, is_large, ...) \
    shape(#name, Family::family, is_large __VA_OPT__(, ) __VA_ARGS__),
#include "watch_calls.inc"
#undef SLOWPATH_CALL
};

}  // namespace slowpath::watch
