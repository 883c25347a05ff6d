// SPDX-License-Identifier: Apache-2.0
/// Which files are sockets.
#pragma once

namespace slowpath::witness {

/// Asked of the kernel each time: descriptors are reused in ways that no wrapper sees. Keeps errno.
bool is_socket(int file);

}  // namespace slowpath::witness
