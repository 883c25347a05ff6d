// SPDX-License-Identifier: Apache-2.0
#include "nccl/package_files.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace slowpath::nccl {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries(std::string_view list) {
    std::vector<std::string> found;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(':'), list.size());
        if (end > 0) found.emplace_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return found;
}

/// PREFIX/lib/python3.N/site-packages of PREFIX/bin, the latest Python first.
std::vector<fs::path> packages_next_to(const fs::path& programs) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const char* const lib : {"lib", "lib64"})
        for (const fs::directory_entry& entry : fs::directory_iterator(programs.parent_path() / lib, ignored))
            if (entry.path().filename().string().starts_with("python3"))
                found.push_back(entry.path() / "site-packages");
    std::sort(found.rbegin(), found.rend());
    return found;
}

}  // namespace

std::vector<std::string> package_files(std::string_view python_path, std::string_view path,
                                       const std::string& inside) {
    std::vector<std::string> found;
    const auto look = [&](const fs::path& packages) {
        std::error_code ignored;
        if (fs::exists(packages / inside, ignored)) found.push_back((packages / inside).string());
    };
    for (const std::string& packages : entries(python_path)) look(packages);
    for (const std::string& programs : entries(path))
        for (const fs::path& packages : packages_next_to(programs)) look(packages);
    return found;
}

}  // namespace slowpath::nccl
