// SPDX-License-Identifier: Apache-2.0
/// What stands in for the recorder where the library has none: it sees each call and keeps nothing.
#include "watch/observer.hpp"

namespace slowpath::watch {

[[gnu::weak]] Scratch* before(Observed&) {
    return nullptr;
}

[[gnu::weak]] void after(Observed&, Scratch*) {}

[[gnu::weak]] void begin_record() {}

[[gnu::weak]] void end_record() {}

}  // namespace slowpath::watch
