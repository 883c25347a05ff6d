// SPDX-License-Identifier: Apache-2.0
#include "catalogue/describe.hpp"

#include "catalogue/registry.hpp"
#include "core/json.hpp"
#include "core/parameters.hpp"

namespace slowpath {
namespace {

void text_if_any(JsonObject& object, std::string_view key, std::string_view text) {
    text.empty() ? object.null(key) : object.text(key, text);
}

std::string choices_json(const Parameter& parameter) {
    std::vector<std::string> words;
    for (const std::string_view choice : parameter.choices) words.push_back(json_text(choice));
    return words.empty() ? "null" : json_array(words);
}

std::string parameter_json(const Parameter& parameter) {
    JsonObject object;
    object.text("name", parameter.name).text("type", name(parameter.type)).text("role", name(parameter.role));
    text_if_any(object, "unit", parameter.unit);
    object.text("default", parameter.default_value);
    text_if_any(object, "minimum", parameter.minimum);
    text_if_any(object, "maximum", parameter.maximum);
    return object.raw("choices", choices_json(parameter))
        .boolean("sided", parameter.sided)
        .text("meaning", parameter.meaning)
        .str();
}

std::string experiment_json(const Experiment& experiment) {
    std::vector<std::string> parameters, metrics;
    for (const Parameter& parameter : experiment.parameters())
        parameters.push_back(parameter_json(parameter));
    for (const Metric& metric : experiment.metrics())
        metrics.push_back(JsonObject()
                              .text("name", metric.name)
                              .text("unit", metric.unit)
                              .text("pattern", metric.pattern)
                              .text("better", name(metric.better))
                              .text("meaning", metric.meaning)
                              .text("definition", metric.definition)
                              .boolean("bandwidth", metric.bandwidth)
                              .boolean("message_rate", metric.message_rate)
                              .str());
    return JsonObject()
        .text("name", experiment.name)
        .text("summary", experiment.summary)
        .integer("min_ranks", experiment.min_ranks)
        .raw("parameters", json_array(parameters))
        .raw("metrics", json_array(metrics))
        .str();
}

std::string block_json() {
    std::vector<std::string> fields;
    for (const BlockField& field : block_fields())
        fields.push_back(JsonObject()
                             .text("name", field.name)
                             .unsigned_integer("offset", field.offset)
                             .unsigned_integer("bytes", field.bytes)
                             .str());
    return JsonObject()
        .integer("version", block_version)
        .unsigned_integer("header_bytes", sizeof(BlockHeader))
        .raw("fields", json_array(fields))
        .str();
}

std::string metric_words(const Metric& metric) {
    return std::string(metric.meaning) + "; " + std::string(metric.definition);
}

std::string value_words(const Parameter& parameter) {
    std::string words;
    if (parameter.type != ParameterType::choice && parameter.type != ParameterType::flag)
        words = name(parameter.type);
    if (parameter.type == ParameterType::flag) words = "on|off";
    for (const std::string_view choice : parameter.choices)
        words += (words.empty() ? "" : "|") + std::string(choice);
    return parameter.sided ? words + ", or SENDER:RECEIVER" : words;
}

}  // namespace

std::string describe_json(std::string_view version) {
    std::vector<std::string> described;
    for (const Experiment* const experiment : experiments())
        described.push_back(experiment_json(*experiment));
    return JsonObject()
               .text("engine", version)
               .integer("plan_version", plan_version)
               .raw("block", block_json())
               .raw("experiments", json_array(described))
               .str() +
           "\n";
}

std::string describe_text(std::string_view version) {
    std::string text = "slowpath-engine " + std::string(version) + ", plan version " +
                       std::to_string(plan_version) + ", block version " + std::to_string(block_version) +
                       "\n";
    for (const Experiment* const experiment : experiments()) {
        text += "\n" + std::string(experiment->name) + ": " + std::string(experiment->summary) +
                " (at least " + std::to_string(experiment->min_ranks) + " ranks)\n";
        for (const Metric& metric : experiment->metrics())
            text += "  " + std::string(metric.name) + " [" + std::string(metric.unit) + ", " +
                    std::string(metric.pattern) + "]: " + metric_words(metric) + "\n";
    }
    return text;
}

std::string general_help() {
    std::string text =
        "Measures how long MPI operations take, one cell after the other.\n\n"
        "  slowpath-engine EXPERIMENT [--key value]... [--out DIR]   table on stdout, record in DIR\n"
        "  slowpath-engine --plan FILE --out DIR                     cells from a plan, record in DIR\n"
        "  slowpath-engine EXPERIMENT --help                         its parameters\n"
        "  slowpath-engine check --plan FILE|- [--ranks N]           judge each cell of a plan, without MPI\n"
        "  slowpath-engine describe [--json]                         what this engine can do, without MPI\n"
        "  slowpath-engine --version\n\n"
        "Start it with the launcher of the MPI library that it was built with: mpiexec, mpirun, srun.\n\n"
        "Values: bytes as 4096, 64KiB, 1GiB+1; lists 8,1KiB,64KiB; ranges 1KiB..1MiB*2 and 0..64+8.\n"
        "Lists multiply into cells.\n\nExperiments:\n";
    for (const Experiment* const experiment : experiments())
        text += "  " + std::string(experiment->name) + "   " + std::string(experiment->summary) + "\n";
    return text +
           "\nExit codes: 0 all cells ok or skipped, 1 wrong payload, 2 usage, 4 environment or MPI "
           "failure.\n";
}

std::string experiment_help(std::string_view name) {
    const Experiment& experiment = find_experiment(name);
    std::string text =
        std::string(experiment.name) + ": " + std::string(experiment.summary) + "\n\nParameters:\n";
    for (const Parameter& parameter : experiment.parameters())
        text += "  --" + std::string(parameter.name) + " (" + value_words(parameter) + "; default " +
                std::string(parameter.default_value) + ")\n      " + std::string(parameter.meaning) + "\n";
    text += "\nMetrics:\n";
    for (const Metric& metric : experiment.metrics())
        text += "  " + std::string(metric.name) + " (" + std::string(metric.pattern) +
                "): " + metric_words(metric) + "\n";
    return text;
}

}  // namespace slowpath
