// SPDX-License-Identifier: Apache-2.0
#include "core/arguments.hpp"

#include <limits>

#include "core/bytes.hpp"
#include "core/error.hpp"

namespace slowpath {
namespace {

struct Option {
    std::string_view name;
    std::optional<std::string> value;
};

/// "--key=value" or "--key value"; moves `at` past what it used.
Option take_option(std::span<const std::string_view> words, std::size_t& at) {
    const std::string_view word = words[at++].substr(2);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos)
        return {word.substr(0, equals), std::string(word.substr(equals + 1))};
    if (word == "help" || word == "version" || word == "json") return {word, std::nullopt};
    if (at == words.size() || words[at].starts_with("--"))
        throw UsageError("--" + std::string(word) + " needs a value");
    return {word, std::string(words[at++])};
}

void set_once(std::optional<std::string>& to, const Option& option) {
    if (to) throw UsageError("--" + std::string(option.name) + " is given twice");
    if (option.value->empty()) throw UsageError("--" + std::string(option.name) + ": empty path");
    to = option.value;
}

void set_ranks(Arguments& arguments, const Option& option) {
    if (arguments.ranks) throw UsageError("--ranks is given twice");
    const std::int64_t ranks = parse_count(*option.value);
    if (ranks < 1 || ranks > std::numeric_limits<int>::max())
        throw UsageError("--ranks " + *option.value + ": a job has 1 rank or more");
    arguments.ranks = static_cast<int>(ranks);
}

void finish_check(const Arguments& arguments) {
    if (!arguments.plan) throw UsageError("check needs --plan FILE, or --plan - for a plan on stdin");
    if (!arguments.parameters.empty() || arguments.out || arguments.json)
        throw UsageError("check takes --plan and --ranks only");
}

void finish(Arguments& arguments) {
    if (arguments.action == Action::help || arguments.action == Action::version) return;
    if (arguments.action == Action::check) return finish_check(arguments);
    if (arguments.action == Action::describe) {
        if (!arguments.parameters.empty() || arguments.out || arguments.plan)
            throw UsageError("describe takes --json only");
        return;
    }
    if (arguments.plan && !arguments.experiment.empty())
        throw UsageError("--plan names the experiments itself; drop '" + arguments.experiment +
                         "' or --plan");
    if (arguments.plan && !arguments.parameters.empty())
        throw UsageError("--" + arguments.parameters[0].first +
                         " can't go with --plan, which holds all parameters");
    if (arguments.plan && !arguments.out)
        throw UsageError("--plan needs --out DIR, the folder for the record");
    if (!arguments.plan && arguments.experiment.empty())
        throw UsageError("no experiment and no --plan given; see slowpath-engine --help");
    if (arguments.json) throw UsageError("--json belongs to describe");
    arguments.action = arguments.plan ? Action::run_plan : Action::run_experiment;
}

}  // namespace

Arguments parse_arguments(std::span<const std::string_view> words) {
    Arguments arguments;
    if (words.empty()) return arguments;
    arguments.action = Action::run_experiment;
    for (std::size_t at = 0; at < words.size();) {
        if (words[at] == "-h") {
            arguments.action = Action::help;
            ++at;
        } else if (words[at].starts_with("--") && words[at].size() > 2) {
            const Option option = take_option(words, at);
            if (option.name == "help" && !option.value) {
                arguments.action = Action::help;
            } else if (option.name == "version" && !option.value) {
                arguments.action = Action::version;
            } else if (option.name == "json" && !option.value) {
                arguments.json = true;
            } else if (option.name == "plan") {
                set_once(arguments.plan, option);
            } else if (option.name == "out") {
                set_once(arguments.out, option);
            } else if (option.name == "ranks" && arguments.action == Action::check) {
                set_ranks(arguments, option);
            } else {
                arguments.parameters.emplace_back(option.name, option.value.value_or(""));
            }
        } else if (at == 0) {
            if (words[0] == "describe")
                arguments.action = Action::describe;
            else if (words[0] == "check")
                arguments.action = Action::check;
            else
                arguments.experiment = words[0];
            ++at;
        } else {
            throw UsageError("'" + std::string(words[at]) + "': a parameter is written --name value");
        }
    }
    finish(arguments);
    return arguments;
}

}  // namespace slowpath
