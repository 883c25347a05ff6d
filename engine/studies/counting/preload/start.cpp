// SPDX-License-Identifier: Apache-2.0
/// libslowpath-count.so: begin and end in a process it is preloaded into.
#include "counting/preload/settings.hpp"
#include "counting/preload/signals.hpp"
#include "counting/preload/watch.hpp"

namespace {

[[gnu::constructor]] void start() {
    using namespace slowpath::counting::preload;
    if (read_settings() && handle_traps()) watch().start();
}

[[gnu::destructor]] void finish() {
    slowpath::counting::preload::watch().finish();
}

}  // namespace
