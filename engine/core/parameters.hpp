// SPDX-License-Identifier: Apache-2.0
/// The table each experiment declares once; --help, describe, validation and sweeps all come from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slowpath {

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

}  // namespace slowpath
