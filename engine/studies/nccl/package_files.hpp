// SPDX-License-Identifier: Apache-2.0
/// Libraries that Python packages bring, which no dynamic loader looks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slowpath::nccl {

/// Files `inside` (as nvidia/nccl/lib/libnccl.so.2) of the folders of packages in `python_path`, then of
/// those next to the folders of programs in `path`; each list with colons.  Only files that are there, in
/// this order.
std::vector<std::string> package_files(std::string_view python_path, std::string_view path,
                                       const std::string& inside);

}  // namespace slowpath::nccl
