// SPDX-License-Identifier: Apache-2.0
#include "counting/names.hpp"

#include <algorithm>
#include <tuple>

namespace slowpath::counting {

Place place_in(const ElfFile& file, const std::string& path, std::uint64_t offset) {
    const std::string library = path.substr(path.rfind('/') + 1);
    const auto address = file.address_of_offset(offset);
    std::string function = address ? file.function_at(*address) : "?";
    if (function.starts_with('+')) function = library + function;
    return {library, function};
}

const ElfFile& Names::file(const std::string& path) {
    auto& known = files_[path];
    if (!known) known = std::make_unique<ElfFile>(path);
    return *known;
}

Place Names::at(std::uint64_t address) {
    const Mapping* const mapping = find_mapping(mappings_, address);
    if (mapping == nullptr || mapping->path.empty()) return {"?", "?"};
    if (mapping->path[0] != '/') return {mapping->path, "?"};
    return place_in(file(mapping->path), mapping->path, address - mapping->begin + mapping->offset);
}

std::vector<Share> Names::shares(std::span<const std::uint64_t> addresses) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> sums;
    for (std::size_t i = 0; i < addresses.size();) {
        std::size_t next = i;
        while (next < addresses.size() && addresses[next] == addresses[i]) ++next;
        const Place place = at(addresses[i]);
        sums[{place.library, place.function}] += next - i;
        i = next;
    }
    std::vector<Share> shares;
    for (const auto& [place, instructions] : sums)
        shares.push_back({place.first, place.second, instructions});
    std::stable_sort(shares.begin(), shares.end(),
                     [](const Share& a, const Share& b) { return a.instructions > b.instructions; });
    return shares;
}

}  // namespace slowpath::counting
