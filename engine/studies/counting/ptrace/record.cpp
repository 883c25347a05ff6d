// SPDX-License-Identifier: Apache-2.0
#include "counting/ptrace/record.hpp"

#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "core/json.hpp"
#include "counting/ptrace/auxiliary.hpp"

namespace slowpath::counting::ptrace {

Record::Record(const Options& options, pid_t process) : process_(process) {
    utsname system{};
    uname(&system);
    const std::string number = std::to_string(process);
    path_ = options.folder + "/" + system.nodename + "-" + number + ".jsonl";
    std::error_code error;
    JsonObject about;
    about.text("event", "process")
        .integer("version", 1)
        .text("method", "ptrace")
        .text("host", system.nodename);
    about.integer("pid", process).text_or_null("rank", rank_of(process));
    about.text("program", std::filesystem::read_symlink("/proc/" + number + "/exe", error).string());
    about.text("function", options.function);
    about.unsigned_integer("skip", options.skip).unsigned_integer("calls", options.calls);
    line(about.str());
}

void Record::line(const std::string& json) const {
    std::ofstream(path_, std::ios::app) << json + "\n";
}

void Record::found(const std::string& library) {
    line(JsonObject().text("event", "found").text("library", library).str());
}

void Record::uncountable(const std::optional<std::string>& library, const std::string& reason) {
    line(JsonObject()
             .text("event", "uncountable")
             .text_or_null("library", library)
             .text("reason", reason)
             .str());
}

void Record::tell_mappings() {
    mappings_told_ = true;
    std::ifstream file("/proc/" + std::to_string(process_) + "/maps");
    std::vector<std::string> lines;
    for (std::string text; std::getline(file, text);)
        if (const auto blank = text.find(' ');
            blank != text.npos && text.size() > blank + 3 && text[blank + 3] == 'x')
            lines.push_back(json_text(text));
    line(JsonObject().text("event", "mappings").raw("lines", json_array(lines)).str());
}

void Record::call(std::uint64_t number, pid_t thread, const Counted& counted) {
    if (!mappings_told_) tell_mappings();
    std::vector<std::string> at;
    for (const auto& [address, times] : counted.at)
        at.push_back("[" + std::to_string(address) + ", " + std::to_string(times.stepped) + ", " +
                     std::to_string(times.retired) + "]");
    JsonObject call;
    call.text("event", "call").unsigned_integer("call", number).integer("thread", thread);
    call.unsigned_integer("stepped", counted.sum.stepped).unsigned_integer("retired", counted.sum.retired);
    line(call.null("reason").raw("at", json_array(at)).str());
}

void Record::call_without_count(std::uint64_t number, pid_t thread, const std::string& reason) {
    JsonObject call;
    call.text("event", "call").unsigned_integer("call", number).integer("thread", thread);
    line(call.null("stepped").null("retired").text("reason", reason).raw("at", "[]").str());
}

void Record::end(std::uint64_t calls) {
    line(JsonObject().text("event", "end").unsigned_integer("calls", calls).str());
}

}  // namespace slowpath::counting::ptrace
