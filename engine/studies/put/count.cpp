// SPDX-License-Identifier: Apache-2.0
#include "put/count.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "core/json.hpp"
#include "counting/counter.hpp"

namespace slowpath::put {
namespace {

/// About 6 s of stepping: more would be a call that waits, which is no count of anything.
constexpr std::size_t most_instructions = std::size_t{1} << 18;

struct Counted {
    std::optional<counting::Count> count;
    std::optional<std::string> reason;  ///< why there is none
};

/// Count what `body` does, or at least do it: the target waits for the burst.
/// @param body Returns a code.
/// @param unavailable Why nothing can be counted in this process.
template <class Body>
Counted counted(Runner& runner, const std::optional<std::string>& unavailable, Body&& body) {
    bool done = false;
    int code = 0;
    Counted result;
    const auto once = [&] {
        done = true;
        code = body();
    };
    try {
        result.reason = unavailable;
        if (!unavailable) result.count = counting::count(once, most_instructions);
    } catch (const EnvironmentFailure& error) {
        result.reason = error.what();
    }
    if (!done) once();
    if (code != 0) throw EnvironmentFailure(runner.error_text(code));
    return result;
}

std::uint32_t sum_of(const std::vector<std::uint32_t>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0U);
}

/// All calls of a synchronisation are one: opening and closing, waiting for requests and flushing.
Counted as_one(Counted first, const Counted& second) {
    if (!first.count) return first;
    if (!second.count) return second;
    counting::Count& sum = *first.count;
    const counting::Count& more = *second.count;
    sum.method = more.method;
    sum.stepped = {sum_of(sum.stepped) + sum_of(more.stepped)};
    sum.retired = {sum_of(sum.retired) + sum_of(more.retired)};
    sum.region += more.region;
    for (const counting::Share& share : more.shares) {
        bool found = false;
        for (counting::Share& known : sum.shares) {
            if (known.library != share.library || known.function != share.function) continue;
            known.instructions += share.instructions;
            found = true;
        }
        if (!found) sum.shares.push_back(share);
    }
    std::stable_sort(sum.shares.begin(), sum.shares.end(),
                     [](const auto& a, const auto& b) { return a.instructions > b.instructions; });
    return first;
}

std::string numbers_json(const std::vector<std::uint32_t>& numbers) {
    std::vector<std::string> words;
    for (const std::uint32_t number : numbers) words.push_back(std::to_string(number));
    return json_array(words);
}

std::string shares_json(const std::vector<counting::Share>& shares) {
    std::vector<std::string> objects;
    for (const counting::Share& share : shares)
        objects.push_back(JsonObject()
                              .text("library", share.library)
                              .text("function", share.function)
                              .unsigned_integer("instructions", share.instructions)
                              .str());
    return json_array(objects);
}

void record(Context& context, const char* region, std::int64_t calls, const Counted& counted) {
    JsonObject event;
    event.integer("cell", context.cell).integer("rank", context.session.rank()).text("region", region);
    event.integer("calls", calls);
    if (counted.count)
        event.text("method", counted.count->method)
            .raw("stepped", numbers_json(counted.count->stepped))
            .raw("retired", numbers_json(counted.count->retired))
            .unsigned_integer("region_instructions", counted.count->region)
            .raw("shares", shares_json(counted.count->shares));
    else
        event.null("method")
            .raw("stepped", "[]")
            .raw("retired", "[]")
            .null("region_instructions")
            .raw("shares", "[]");
    event.text_or_null("reason", counted.reason);
    context.record.events += "instructions " + event.fields() + "\n";
}

/// Mean of the calls for the table; of what a put costs where there is no call, its share of the region.
std::optional<double> per_put(const Counted& puts, std::int64_t number) {
    if (!puts.count) return std::nullopt;
    const auto& calls = puts.count->retired;
    const double sum = calls.empty() ? static_cast<double>(puts.count->region)
                                     : std::accumulate(calls.begin(), calls.end(), 0.0);
    return sum / static_cast<double>(number);
}

}  // namespace

void count_instructions(Context& context, const Config& config, const Pair& pair, Runner& runner) {
    if (config.instructions == 0) return;
    // Unstepped ones first: the heap is then as a burst of this length leaves it.
    constexpr std::int64_t before = 2;
    pair.of_origin(before + 1);
    // What entering a region costs, without any put, is no part of the loop.
    const std::optional<std::string> unavailable = counting::unavailable();
    const auto count = [&](auto&& body) { return counted(runner, unavailable, body); };
    runner.set_puts(0);
    const Counted empty = count([&] { return runner.puts(); });
    runner.set_puts(config.instructions);
    if (const int code = runner.run(before); code != 0) throw EnvironmentFailure(runner.error_text(code));
    Counted open{counting::Count{}, std::nullopt};
    if (runner.opens()) open = count([&] { return runner.open(); });
    Counted puts = count([&] { return runner.puts(); });
    const Counted close = count([&] { return runner.close(); });
    runner.set_puts(config.puts);
    if (puts.count && empty.count) puts.count->region -= std::min(puts.count->region, empty.count->region);
    if (puts.count && !runner.puts_are_calls()) {
        // A memcpy within an inlined put is a part of it, and no put.
        puts.count->stepped.clear();
        puts.count->retired.clear();
    }
    record(context, "put", config.instructions, puts);
    record(context, "synchronisation", 1, as_one(open, close));
    if (const auto instructions = per_put(puts, config.instructions))
        context.record.counts["instructions_per_put"] = *instructions;
}

}  // namespace slowpath::put
