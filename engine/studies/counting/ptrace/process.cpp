// SPDX-License-Identifier: Apache-2.0
#include "counting/ptrace/process.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "counting/mappings.hpp"
#include "counting/ptrace/auxiliary.hpp"

namespace slowpath::counting::ptrace {

const ElfFile& Files::at(const std::string& path) {
    auto& known = files_[path];
    if (!known) known = std::make_unique<ElfFile>(path);
    return *known;
}

Process::Process(const Options& options, Files& files, pid_t process)
    : options_(options), files_(files), id_(process), memory_(process) {}

Process::Process(const Process& parent, pid_t process) : Process(parent.options_, parent.files_, process) {
    breakpoints_ = parent.breakpoints_;
    looked_in_ = parent.looked_in_;
}

Record& Process::record() {
    if (!record_) record_.emplace(options_, id_);
    return *record_;
}

void Process::watch_entry() {
    if (const auto entry = entry_of(id_)) place(*entry, Purpose::entry);
}

void Process::watch_libraries() {
    if (const auto function = libraries_changed_function(id_, memory_))
        place(*function, Purpose::libraries_changed);
}

void Process::look_for_function() {
    instructions_.clear();
    if (record_) record_->forget_mappings();
    for (const Mapping& mapping : read_mappings(std::to_string(id_))) {
        if (!mapping.executable || mapping.path.empty() || mapping.path[0] != '/') continue;
        if (!looked_in_.insert(mapping.path).second) continue;
        const ElfFile& file = files_.at(mapping.path);
        const auto begin = file.address_of_offset(mapping.offset);
        if (!begin) continue;
        if (file.is_chosen_at_load(options_.function))
            record().uncountable(mapping.path,
                                 "it is one of several, chosen when the library is loaded (STT_GNU_IFUNC)");
        for (const std::uint64_t address : file.addresses_named(options_.function)) {
            place(address - *begin + mapping.begin, Purpose::function);
            record().found(mapping.path);
        }
    }
}

std::optional<Purpose> Process::purpose_at(std::uint64_t address) const {
    const auto found = breakpoints_.find(address);
    return found == breakpoints_.end() ? std::nullopt : std::optional(found->second.purpose);
}

void Process::place(std::uint64_t address, Purpose purpose) {
    Code original{};
    if (breakpoints_.contains(address)) return;
    if (memory_.read(address, original.data(), original.size()) != original.size()) return;
    breakpoints_[address] = {purpose, original};
    put_back(address);
}

void Process::lift(std::uint64_t address) {
    if (const auto found = breakpoints_.find(address); found != breakpoints_.end())
        memory_.write(address, found->second.original.data(), found->second.original.size());
}

void Process::put_back(std::uint64_t address) {
    if (breakpoints_.contains(address))
        memory_.write(address, Processor::breakpoint.data(), Processor::breakpoint.size());
}

void Process::remove(std::uint64_t address) {
    lift(address);
    breakpoints_.erase(address);
}

void Process::stop_watching() {
    for (const auto& [address, breakpoint] : std::map(breakpoints_))
        if (breakpoint.purpose != Purpose::resume) remove(address);
}

Process::Instruction Process::instruction_at(std::uint64_t address) {
    if (const auto known = instructions_.find(address); known != instructions_.end()) return known->second;
    std::array<std::uint8_t, Processor::longest_instruction> code{};
    const std::size_t bytes = memory_.read(address, code.data(), code.size());
    if (const auto found = breakpoints_.find(address); found != breakpoints_.end() && bytes >= Code{}.size())
        std::copy(found->second.original.begin(), found->second.original.end(), code.begin());
    return instructions_[address] = {Processor::is_repeated(code.data()), Processor::is_syscall(code.data())};
}

void Process::finish() {
    if (record_) record_->end(calls);
}

}  // namespace slowpath::counting::ptrace
