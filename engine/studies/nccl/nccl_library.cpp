// SPDX-License-Identifier: Apache-2.0
#include "nccl/nccl_library.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.hpp"
#include "nccl/open_library.hpp"

namespace slowpath::nccl {
namespace {

bool loaded = false;

std::string from_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// For a variable that the user has not set.
void set_default(const char* name, const char* value) {
    setenv(name, value, 0);
}

/// NCCL writes to the file in memory what it does at initialisation, and nothing in a call.
/// @return -1 where the user has asked for a report of another kind, or there is no such file.
int ask_for_report() {
    if (!from_environment("NCCL_DEBUG").empty() || !from_environment("NCCL_DEBUG_FILE").empty()) return -1;
    const int descriptor = memfd_create("slowpath-nccl", MFD_CLOEXEC);
    if (descriptor < 0) return -1;
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT", 1);
    setenv("NCCL_DEBUG_FILE", ("/proc/self/fd/" + std::to_string(descriptor)).c_str(), 1);
    return descriptor;
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr)
        throw EnvironmentFailure(std::string("NCCL lacks ") + name + "; take 2.7 or later");
}

/// "2.32.3" of 23203; before NCCL 2.9, 2708 was 2.7.8.
std::string version_text(int version) {
    const int unit = version >= 10000 ? 10000 : 1000;
    return std::to_string(version / unit) + "." + std::to_string(version % unit / 100) + "." +
           std::to_string(version % 100);
}

}  // namespace

bool Library::is_loaded() {
    return loaded;
}

Library& Library::load() {
    // Never unloaded: it keeps threads and exit handlers of its own.
    static Library* const library = new Library;
    return *library;
}

Library::Library() {
    loaded = true;
    set_default("NCCL_NVLS_ENABLE", "0");
    report_ = ask_for_report();
    void* const library = open_library({.what = "NCCL",
                                        .file = "libnccl.so.2",
                                        .in_package = "nvidia/nccl/lib/libnccl.so.2",
                                        .package = "nvidia-nccl-cu13",
                                        .variable = "SLOWPATH_NCCL"});
    find(library, "ncclGetVersion", functions_.ncclGetVersion);
    find(library, "ncclGetErrorString", functions_.ncclGetErrorString);
    find(library, "ncclGetUniqueId", functions_.ncclGetUniqueId);
    find(library, "ncclCommInitRank", functions_.ncclCommInitRank);
    find(library, "ncclCommDestroy", functions_.ncclCommDestroy);
    find(library, "ncclGroupStart", functions_.ncclGroupStart);
    find(library, "ncclGroupEnd", functions_.ncclGroupEnd);
    find(library, "ncclSend", functions_.ncclSend);
    find(library, "ncclRecv", functions_.ncclRecv);
    find(library, "ncclAllReduce", functions_.ncclAllReduce);
    find(library, "ncclBroadcast", functions_.ncclBroadcast);
    find(library, "ncclReduceScatter", functions_.ncclReduceScatter);
    find(library, "ncclAllGather", functions_.ncclAllGather);
    functions_.ncclGetLastError =
        reinterpret_cast<const char* (*)(Communicator)>(dlsym(library, "ncclGetLastError"));
    functions_.ncclMemFree = reinterpret_cast<Result (*)(void*)>(dlsym(library, "ncclMemFree"));
    file_ = file_of(reinterpret_cast<const void*>(functions_.ncclGetVersion));
}

std::string Library::name() const {
    int version = 0;
    check(functions_.ncclGetVersion(&version), "ncclGetVersion");
    return "NCCL " + version_text(version);
}

void Library::check(Result result, const char* call, Communicator communicator) const {
    if (result == 0) [[likely]]
        return;
    std::string text = std::string(call) + " failed: " + functions_.ncclGetErrorString(result);
    if (functions_.ncclGetLastError != nullptr)
        if (const char* const last = functions_.ncclGetLastError(communicator);
            last != nullptr && *last != '\0')
            text += " (" + std::string(last) + ")";
    throw EnvironmentFailure(text);
}

void Library::forget_report() const {
    // NCCL goes on writing where it stood, so that a hole of zeros comes before its next line.
    if (report_ >= 0 && ftruncate(report_, 0) != 0) return;
}

std::map<Part, double> Library::init_timings() const {
    struct stat status {};
    if (report_ < 0 || fstat(report_, &status) != 0) return {};
    std::string tail(std::size_t{1} << 20, '\0');
    const auto most = static_cast<off_t>(tail.size());
    const off_t begin = status.st_size > most ? status.st_size - most : 0;
    const ssize_t bytes = pread(report_, tail.data(), tail.size(), begin);
    if (bytes <= 0) return {};
    return read_init_timings(std::string_view(tail).substr(0, static_cast<std::size_t>(bytes)));
}

namespace {

/// The number after `name`; nullopt: it is none, or below 0.
std::optional<double> number_after(std::string_view text, std::size_t at, std::string_view name) {
    const std::string number(text.substr(at + name.size()));
    char* end = nullptr;
    const double seconds = std::strtod(number.c_str(), &end);
    if (end == number.c_str() || !(seconds >= 0)) return std::nullopt;
    return seconds;
}

}  // namespace

std::map<Part, double> read_init_timings(std::string_view report) {
    std::map<Part, double> found;
    const std::size_t at = report.rfind("Init timings");
    if (at == std::string_view::npos) return found;
    std::string_view line = report.substr(at);
    line = line.substr(0, line.find('\n'));
    const std::size_t open = line.find('('), close = line.find(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return found;
    constexpr std::string_view total = " total ";
    if (const std::size_t where = line.substr(0, open).find(total); where != std::string_view::npos)
        if (const auto seconds = number_after(line, where, total)) found[Part::init_total] = *seconds;
    line = line.substr(open + 1, close - open - 1);
    for (std::size_t word = 0; word < init_words.size(); ++word) {
        const std::string name = std::string(init_words[word]) + " ";
        const std::size_t where = line.starts_with(name) ? 0 : line.find(", " + name);
        if (where == std::string_view::npos) continue;
        if (const auto seconds = number_after(line, line.find(name, where), name))
            found[static_cast<Part>(static_cast<std::uint64_t>(Part::init_kernels) + word)] = *seconds;
    }
    return found;
}

}  // namespace slowpath::nccl
