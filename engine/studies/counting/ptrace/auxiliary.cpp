// SPDX-License-Identifier: Apache-2.0
#include "counting/ptrace/auxiliary.hpp"

#include <elf.h>
#include <link.h>

#include <fstream>
#include <map>

#include "counting/rank.hpp"

namespace slowpath::counting::ptrace {
namespace {

std::string file_of(pid_t process, const char* name) {
    return "/proc/" + std::to_string(process) + "/" + name;
}

std::map<std::uint64_t, std::uint64_t> auxiliary_vector(pid_t process) {
    std::map<std::uint64_t, std::uint64_t> values;
    std::ifstream file(file_of(process, "auxv"), std::ios::binary);
    for (Elf64_auxv_t entry; file.read(reinterpret_cast<char*>(&entry), sizeof entry);)
        values[entry.a_type] = entry.a_un.a_val;
    return values;
}

}  // namespace

std::optional<std::uint64_t> entry_of(pid_t process) {
    const auto values = auxiliary_vector(process);
    const auto entry = values.find(AT_ENTRY);
    return entry == values.end() ? std::nullopt : std::optional(entry->second);
}

std::optional<std::uint64_t> libraries_changed_function(pid_t process, const Memory& memory) {
    auto values = auxiliary_vector(process);
    std::uint64_t base = 0, dynamic = 0;
    for (std::uint64_t i = 0; i < values[AT_PHNUM]; ++i) {
        const auto header = memory.value<Elf64_Phdr>(values[AT_PHDR] + i * sizeof(Elf64_Phdr));
        if (!header) return std::nullopt;
        if (header->p_type == PT_PHDR) base = values[AT_PHDR] - header->p_vaddr;
        if (header->p_type == PT_DYNAMIC) dynamic = header->p_vaddr;
    }
    if (dynamic == 0) return std::nullopt;
    for (std::uint64_t at = base + dynamic;; at += sizeof(Elf64_Dyn)) {
        const auto entry = memory.value<Elf64_Dyn>(at);
        if (!entry || entry->d_tag == DT_NULL) return std::nullopt;
        if (entry->d_tag != DT_DEBUG || entry->d_un.d_ptr == 0) continue;
        const auto debug = memory.value<r_debug>(entry->d_un.d_ptr);
        if (!debug || debug->r_brk == 0) return std::nullopt;
        return debug->r_brk;
    }
}

std::optional<std::string> rank_of(pid_t process) {
    std::ifstream file(file_of(process, "environ"), std::ios::binary);
    std::map<std::string, std::string> variables;
    for (std::string line; std::getline(file, line, '\0');)
        if (const auto equals = line.find('='); equals != line.npos)
            variables[line.substr(0, equals)] = line.substr(equals + 1);
    for (const char* const name : rank_variables)
        if (const auto found = variables.find(name); found != variables.end()) return found->second;
    return std::nullopt;
}

pid_t process_of(pid_t thread) {
    std::ifstream file(file_of(thread, "status"));
    for (std::string word; file >> word;) {
        pid_t process = 0;
        if (word == "Tgid:" && file >> process) return process;
    }
    return thread;
}

}  // namespace slowpath::counting::ptrace
