// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slowpath {

// The table each experiment declares once; --help, describe, validation and sweeps all come from it.

enum class ParameterType { bytes, count, seconds, choice, flag };

const char* name(ParameterType type);

/// What a parameter is to those who compare cells.
enum class ParameterRole {
    setting,    ///< names what is measured, whether by a word or by a number (a device, a peer)
    covariate,  ///< a number that a time may follow by a law
    effort,  ///< how long, how often and how carefully is measured: cells that differ in it measure the same
};

const char* name(ParameterRole role);

/// A row of a table; fields are given by name.
struct Parameter {
    std::string_view name;
    ParameterType type;
    ParameterRole role;
    std::string_view unit = "";  ///< "" when it has none
    std::string_view default_value;
    std::string_view minimum = "";  ///< "" for choice and flag
    std::string_view maximum = "";
    std::vector<std::string_view> choices{};  ///< words allowed; for numbers: words allowed as well
    bool sided = false;                       ///< takes SENDER:RECEIVER
    std::string_view meaning;
};

enum class Side { sender, receiver };

/// One value in canonical spelling (bytes in digits); both sides alike unless the parameter is sided.
struct Value {
    std::string sender;
    std::string receiver;
    std::string str() const { return sender == receiver ? sender : sender + ":" + receiver; }
    bool operator==(const Value&) const = default;
};

/// A cell's parameters, complete: what was not given has its default.
class Assignment {
  public:
    /// @param given name and text pairs, each parameter at most once.
    /// @throws UsageError: unknown name or choice (with the nearest valid word), value out of range, given
    /// twice.
    Assignment(std::span<const Parameter> table, std::span<const std::pair<std::string, std::string>> given);

    const std::string& text(std::string_view name, Side side = Side::sender) const;
    std::int64_t integer(std::string_view name, Side side = Side::sender) const;
    double seconds(std::string_view name) const;
    /// Of a choice: its word as an enumerator, of an enumeration that follows the order of the table's
    /// choices.
    template <class Enumeration>
    Enumeration chosen(std::string_view name, Side side = Side::sender) const {
        return static_cast<Enumeration>(place_among_choices(name, side));
    }
    bool flag(std::string_view name) const { return text(name) == "on"; }

    /// "name=value" of each parameter that is not at its default, in the order of the table, without
    /// `except`.
    std::string differences(std::string_view except) const;

  private:
    std::size_t place_among_choices(std::string_view name, Side side) const;

    std::span<const Parameter> table_;
    std::map<std::string, Value, std::less<>> values_;
};

/// The parameter of this name; '-' counts as '_'.  @throws UsageError with the nearest valid name.
const Parameter& find_parameter(std::span<const Parameter> table, std::string_view name);

/// Read one value.  @throws UsageError.
Value parse_value(const Parameter& parameter, std::string_view text);

// Lists and ranges of the command line (8,1KiB  1KiB..1MiB*2  0..64+8), multiplied into cells.

using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// All values a text stands for, in order.  @throws UsageError: a range without step, with the ends swapped,
/// ...
std::vector<std::string> expand_values(const Parameter& parameter, std::string_view text);

/// The product of all parameters' values; the last one given varies fastest.
/// @throws UsageError, also for more than a million cells.
std::vector<KeyValues> expand_cells(std::span<const Parameter> table, const KeyValues& given);

// The command line, split but not yet judged against an experiment: docs/reference/engine-interface.md.

enum class Action { run_experiment, run_plan, check, describe, help, version };

struct Arguments {
    Action action = Action::help;
    bool json = false;                ///< describe --json
    std::string experiment;           ///< run_experiment, or help of one; "" for general help
    KeyValues parameters;             ///< as written, lists and ranges unexpanded
    std::optional<std::string> plan;  ///< path; check: "-" for stdin
    std::optional<std::string> out;   ///< path
    std::optional<int> ranks;         ///< check: of the job that is to run the plan
};

/// @param words argv without the program's name.  @throws UsageError.
Arguments parse_arguments(std::span<const std::string_view> words);

// plan.txt, version 1: docs/internals/record.md.

inline constexpr int plan_version = 1;

struct PlannedCell {
    std::uint32_t cell;
    std::string experiment;
    KeyValues parameters;
};

struct Plan {
    std::uint32_t launch = 0;
    std::uint64_t seed = 0;
    std::vector<PlannedCell> cells;  ///< in the order of their lines
};

/// @throws UsageError naming the line: wrong version, unknown word, a cell twice, a parameter without '='.
Plan parse_plan(std::string_view text);

}  // namespace slowpath
