// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/plan.hpp"
#include "core/sweep.hpp"
#include "record/block.hpp"
#include "record/crc32.hpp"

namespace slowpath::fuzz {
namespace {

std::vector<std::string> plans() {
    return {
        "slowpath-plan 1\nlaunch 42\nseed 123456789\n"
        "cell 3 p2p pattern=ping_pong message_bytes=8\n"
        "cell 1 p2p pattern=one_way memory=host pages=huge:small message_bytes=16777216 allocations=4\n",
        "slowpath-plan 1\nlaunch 1\nseed 18446744073709551615\ncell 0 cannon variant=sendrecv n=512\n"
        "cell 4294967295 put design=mpi puts=1000 datatype=vector time_limit_s=0.02\n",
    };
}

std::string written(const Plan& plan) {
    std::string text = "slowpath-plan 1\nlaunch " + std::to_string(plan.launch) + "\nseed " +
                       std::to_string(plan.seed) + "\n";
    for (const PlannedCell& cell : plan.cells) {
        text += "cell " + std::to_string(cell.cell) + " " + cell.experiment;
        for (const auto& [name, value] : cell.parameters) text += " " + name + "=" + value;
        text += "\n";
    }
    return text;
}

/// What was read, written and read again, is the same; and each cell's number stands in the input as it is.
bool read_plan(const std::vector<std::string>&, const std::string& input) {
    std::optional<Plan> plan;
    try {
        plan = parse_plan(input);
    } catch (const UsageError&) {
        return false;
    }
    const std::string text = written(*plan);
    if (written(parse_plan(text)) != text) throw Defect("the plan is another one when it is read again");
    for (const PlannedCell& cell : plan->cells)
        if (input.find(std::to_string(cell.cell)) == std::string::npos)
            throw Defect("cell " + std::to_string(cell.cell) + " does not stand in the plan");
    return true;
}

std::vector<std::string> words() {
    return {"8",
            "1KiB",
            "1GiB+1",
            "2MiB-64",
            "8,1KiB,64KiB",
            "1KiB..1MiB*2",
            "0..64+8",
            "0.1",
            "1e-3",
            "device:host",
            "message",
            "1GB",
            "1.5GiB",
            "9223372036854775807",
            "8TiB",
            "1..9+1,2:3",
            "huge:small",
            "1MiB:1GiB",
            "007",
            "1GiB+1GiB-2GiB"};
}

const std::vector<Parameter>& table() {
    static const std::vector<Parameter> parameters{
        {
            .name = "message_bytes",
            .type = ParameterType::bytes,
            .role = ParameterRole::covariate,
            .unit = "bytes",
            .default_value = "8",
            .minimum = "0",
            .maximum = "9223372036854775807",
            .meaning = "",
        },
        {
            .name = "buffer_bytes",
            .type = ParameterType::bytes,
            .role = ParameterRole::covariate,
            .unit = "bytes",
            .default_value = "8",
            .minimum = "0",
            .maximum = "9223372036854775807",
            .choices = {"message"},
            .sided = true,
            .meaning = "",
        },
        {
            .name = "samples",
            .type = ParameterType::count,
            .role = ParameterRole::effort,
            .default_value = "200",
            .minimum = "1",
            .maximum = "1000000000",
            .meaning = "",
        },
        {
            .name = "time_limit_s",
            .type = ParameterType::seconds,
            .role = ParameterRole::effort,
            .unit = "s",
            .default_value = "0.1",
            .minimum = "0",
            .maximum = "86400",
            .meaning = "",
        },
        {
            .name = "memory",
            .type = ParameterType::choice,
            .role = ParameterRole::setting,
            .default_value = "host",
            .choices = {"host", "device"},
            .sided = true,
            .meaning = "",
        },
        {
            .name = "validate",
            .type = ParameterType::flag,
            .role = ParameterRole::effort,
            .default_value = "on",
            .meaning = "",
        },
    };
    return parameters;
}

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Each parameter takes or refuses the word; plain digits mean what they say.
bool read_words(const std::vector<std::string>&, const std::string& input) {
    bool taken = false;
    for (const Parameter& parameter : table()) {
        try {
            const std::vector<std::string> values = expand_values(parameter, input);
            taken = true;
            if (values.empty()) throw Defect("no value and no complaint");
        } catch (const UsageError&) {
        }
    }
    for (const auto parse : {parse_bytes, parse_count}) {
        try {
            const std::int64_t number = parse(input);
            std::string digits = input.substr(std::min(input.find_first_not_of('0'), input.size()));
            if (number < 0) throw Defect("a number below 0");
            if (all_digits(input) && std::to_string(number) != (digits.empty() ? "0" : digits))
                throw Defect("'" + input + "' was read as " + std::to_string(number));
        } catch (const UsageError&) {
        }
    }
    try {
        if (!(parse_seconds(input) >= 0)) throw Defect("a time that is no time");
    } catch (const UsageError&) {
    }
    return taken;
}

std::string encoded(const BlockHeader& header, const std::vector<std::int64_t>& durations_ns,
                    const std::vector<std::int64_t>& begins_ns) {
    std::vector<std::byte> bytes;
    append_block(bytes, header, durations_ns, begins_ns);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Files of one to three blocks.
std::vector<std::string> blocks() {
    BlockHeader header;
    header.cell = 3;
    header.launch = 42;
    header.phase = Phase::steady;
    const std::string one = encoded(header, {10, 20, 30}, {});
    header.rank = 1;
    header.t0_ns = 1000;
    const std::string two = encoded(header, {5, 6}, {1000, 1010});
    header.phase = Phase::first;
    const std::string empty = encoded(header, {}, {});
    return {one + two + empty, two, one + one};
}

/// Besides what anything may suffer: a header with a field changed and sealed again, as a hostile or broken
/// writer would.
std::string block_input(const std::vector<std::string>& seeds, Random& random) {
    if (below(random, 2) == 0) return mutated(seeds, random);
    std::string file = seeds[below(random, seeds.size())];
    BlockHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    constexpr std::array<std::uint64_t, 8> extremes{0,          1,          4,          1ULL << 31,
                                                    1ULL << 60, 1ULL << 61, 1ULL << 63, ~0ULL};
    const std::size_t at = below(random, offsetof(BlockHeader, payload_crc) - sizeof(std::uint64_t));
    const std::uint64_t value = extremes[below(random, extremes.size())];
    if (below(random, 2) == 0)
        header.n = value;
    else
        std::memcpy(reinterpret_cast<char*>(&header) + at, &value, 1 + below(random, sizeof value));
    const auto bytes = std::as_bytes(std::span(&header, 1));
    header.header_crc = crc32(bytes.first(offsetof(BlockHeader, header_crc)));
    std::memcpy(file.data(), &header, sizeof header);
    file.resize(sizeof header + below(random, file.size() - sizeof header + 1));
    return file;
}

/// A block that was read is, written again, found in the input: no number was made up, and none was changed
/// unseen.
bool read_block(const std::vector<std::string>& seeds, const std::string& input) {
    std::span<const std::byte> rest = std::as_bytes(std::span(input));
    bool taken = false;
    while (const std::optional<Block> block = take_block(rest)) {
        taken = true;
        const BlockHeader& header = block->header;
        if (header.n != block->durations_ns.size()) throw Defect("a block of another length than it says");
        std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
        for (const auto* column : {&block->durations_ns, &block->starts_ns})
            bytes.append(reinterpret_cast<const char*>(column->data()),
                         column->size() * sizeof(std::int64_t));
        if (input.find(bytes) == std::string::npos) throw Defect("a block that does not stand in the file");
        // An unchanged seal means an unchanged block.
        for (const std::string& seed : seeds) {
            const std::size_t at = seed.find(bytes.substr(offsetof(BlockHeader, payload_crc), 8));
            if (at != std::string::npos && seed.find(bytes) == std::string::npos)
                throw Defect("a changed block under its old checksums");
        }
    }
    return taken;
}

}  // namespace

const std::vector<Target>& targets() {
    static const std::vector<Target> known{
        {"plan", plans, mutated, read_plan},
        {"block", blocks, block_input, read_block},
        {"words", words, mutated, read_words},
    };
    return known;
}

}  // namespace slowpath::fuzz
