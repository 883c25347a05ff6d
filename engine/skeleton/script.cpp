// SPDX-License-Identifier: Apache-2.0
#include "skeleton/script.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/error.hpp"

namespace slowpath::skeleton {
namespace {

constexpr std::string_view head = "slowpath-skeleton 1";

/// The words of one line, taken one after the other.
class Line {
  public:
    Line(std::string_view text, std::size_t number) : rest_(text), number_(number) {}

    std::string_view word() {
        const std::size_t end = std::min(rest_.find(' '), rest_.size());
        const std::string_view found = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        if (found.empty()) fail("a word is missing");
        return found;
    }
    bool is_over() const { return rest_.empty(); }

    std::int64_t number(std::int64_t least, std::int64_t most) {
        const std::string_view text = word();
        std::int64_t value = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (code != std::errc() || end != text.data() + text.size() || value < least || value > most)
            fail("'" + std::string(text) + "' is no number from " + std::to_string(least) + " to " +
                 std::to_string(most));
        return value;
    }
    int small(int least, std::int64_t most = std::numeric_limits<int>::max()) {
        return static_cast<int>(number(least, most));
    }
    void expect(std::string_view wanted) {
        if (word() != wanted) fail("'" + std::string(wanted) + "' is missing");
    }
    [[noreturn]] void fail(const std::string& why) const {
        throw EnvironmentFailure("line " + std::to_string(number_) + " of the script: " + why);
    }

  private:
    std::string_view rest_;
    std::size_t number_;
};

Message message(Line& line, const Script& script, std::size_t members) {
    Message found;
    found.peer = line.small(0, static_cast<std::int64_t>(members) - 1);
    found.tag = line.small(0);
    found.bytes = line.small(0);
    found.buffer = line.small(-1, static_cast<std::int64_t>(script.buffer_bytes.size()) - 1);
    if (found.buffer >= 0 && script.buffer_bytes[static_cast<std::size_t>(found.buffer)] < found.bytes)
        line.fail("the message is longer than its buffer");
    return found;
}

Operation operation(std::string_view name, Line& line, const Script& script) {
    const auto* const at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) line.fail("'" + std::string(name) + "' is no operation");
    Operation found;
    found.kind = static_cast<Kind>(at - names.begin());
    if (found.kind == Kind::compute) {
        found.length_ns = line.number(0, std::numeric_limits<std::int64_t>::max());
        return found;
    }
    if (found.kind == Kind::wait) {
        while (!line.is_over()) found.requests.push_back(line.small(0, script.requests - 1));
        return found;
    }
    found.communicator = line.small(0, static_cast<std::int64_t>(script.communicators.size()) - 1);
    const std::size_t members = script.communicators[static_cast<std::size_t>(found.communicator)].size();
    if (members == 0) line.fail("the rank is not in this communicator");
    switch (found.kind) {
        case Kind::send:
        case Kind::ssend:
        case Kind::recv:
            found.first = message(line, script, members);
            break;
        case Kind::isend:
        case Kind::issend:
        case Kind::irecv:
            found.first = message(line, script, members);
            found.requests.push_back(line.small(0, script.requests - 1));
            break;
        case Kind::sendrecv:
            found.first = message(line, script, members);
            found.second = message(line, script, members);
            break;
        case Kind::probe:
            found.first.peer = line.small(0, static_cast<std::int64_t>(members) - 1);
            found.first.tag = line.small(0);
            break;
        case Kind::bcast:
        case Kind::reduce:
        case Kind::gather:
        case Kind::scatter:
            found.first.peer = line.small(0, static_cast<std::int64_t>(members) - 1);
            found.first.bytes = line.small(0);
            break;
        case Kind::allreduce:
        case Kind::allgather:
        case Kind::alltoall:
            found.first.bytes = line.small(0);
            break;
        default:
            break;
    }
    return found;
}

std::vector<int> members(Line& line, int ranks) {
    std::vector<int> found;
    while (!line.is_over()) found.push_back(line.small(0, ranks - 1));
    return found;
}

}  // namespace

Script parse(std::string_view text) {
    Script script;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        Line line(text.substr(0, end), ++number);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (number == 1) {
            line.expect(head.substr(0, head.find(' ')));
            line.expect(head.substr(head.find(' ') + 1));
            continue;
        }
        const std::string_view name = line.word();
        if (name == "rank") {
            script.rank = line.small(0);
            line.expect("of");
            script.ranks = line.small(1);
        } else if (name == "requests") {
            script.requests = line.small(0);
        } else if (name == "communicator") {
            script.communicators.push_back(members(line, script.ranks));
        } else if (name == "buffer") {
            script.buffer_bytes.push_back(line.number(0, std::numeric_limits<int>::max()));
        } else {
            script.operations.push_back(operation(name, line, script));
        }
        if (!line.is_over()) line.fail("it has words too many");
    }
    if (script.ranks == 0) throw EnvironmentFailure("the script does not say whose it is");
    return script;
}

}  // namespace slowpath::skeleton
