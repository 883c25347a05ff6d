// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace slowpath::counting::preload {

/// SIGTRAP goes to watch().on_trap() from now on.  @return false: the system refuses.
bool handle_traps();

}  // namespace slowpath::counting::preload
