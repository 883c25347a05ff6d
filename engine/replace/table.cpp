// SPDX-License-Identifier: Apache-2.0
#include "replace/table.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

namespace slowpath::replace {

namespace {

constexpr int deepest = 32;

/// Strict JSON (RFC 8259), read once from left to right. The first thing that is wrong is kept, and nothing
/// is read after it.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    const std::string& wrong() const { return wrong_; }

    void refuse(std::string what) {
        if (!wrong_.empty()) return;
        std::size_t line = 1;
        for (const char one : text_.substr(0, at_)) line += one == '\n' ? 1 : 0;
        wrong_ = "line " + std::to_string(line) + ": " + std::move(what);
    }

    /// Calls field(key) at each value of an object.
    template <class Field>
    void object(Field field) {
        each('{', '}', [&] {
            const std::string key = string();
            take(':');
            field(key);
        });
    }

    template <class Item>
    void array(Item item) {
        each('[', ']', item);
    }

    std::string string() {
        std::string found;
        if (!take('"')) return found;
        while (wrong_.empty()) {
            const char one = next();
            if (one == '"') return found;
            if (one == '\0' || static_cast<unsigned char>(one) < ' ') refuse("a string without an end");
            found += one;
            if (one != '\\') continue;
            const char escaped = next();
            if (std::string_view("\"\\/bfnrtu").find(escaped) == std::string_view::npos)
                refuse("a bad escape");
            // No name that is read has an escape; one that has stays as it is written.
            if (std::string_view("\"\\/").find(escaped) == std::string_view::npos)
                found += escaped;
            else
                found.back() = escaped;
        }
        return found;
    }

    std::int64_t integer() {
        space();
        std::int64_t value = 0;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error != std::errc{}) refuse("not a whole number");
        at_ += static_cast<std::size_t>(end - begin);
        if (const char after = peek(); after == '.' || after == 'e' || after == 'E')
            refuse("not a whole number");
        return value;
    }

    void skip() {
        if (++depth_ > deepest) refuse("nested too deeply");
        switch (peek()) {
            case '{':
                object([&](const std::string&) { skip(); });
                break;
            case '[':
                array([&] { skip(); });
                break;
            case '"':
                string();
                break;
            default:
                word();
        }
        --depth_;
    }

    void end() {
        if (peek() != '\0' || at_ < text_.size()) refuse("more after the end");
    }

  private:
    void space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
            ++at_;
    }
    char peek() {
        space();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    char next() { return at_ < text_.size() ? text_[at_++] : '\0'; }
    bool take(char wanted) {
        if (wrong_.empty() && peek() == wanted) {
            ++at_;
            return true;
        }
        refuse(std::string("expected ") + wanted);
        return false;
    }
    template <class Item>
    void each(char begin, char end, Item item) {
        if (!take(begin)) return;
        if (peek() == end) {
            ++at_;
            return;
        }
        while (wrong_.empty()) {
            item();
            if (peek() == end) {
                ++at_;
                return;
            }
            take(',');
        }
    }
    /// true, false, null or a number.
    void word() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                      std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
            ++at_;
        const std::string_view found = text_.substr(begin, at_ - begin);
        const bool is_number = !found.empty() && (found[0] == '-' || (found[0] >= '0' && found[0] <= '9'));
        if (!is_number && found != "true" && found != "false" && found != "null") refuse("not a JSON value");
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    std::string wrong_;
};

/// A name as messages have it.
std::string shortened(const std::string& name) {
    constexpr std::size_t most = 40;
    return name.size() <= most ? name : name.substr(0, most) + "...";
}

Range range(Reader& reader) {
    std::array<std::int64_t, 2> ends{};
    std::size_t count = 0;
    reader.array([&] {
        const std::int64_t value = reader.integer();
        if (count < ends.size()) ends[count] = value;
        ++count;
    });
    if (count != ends.size() || ends[0] < 0 || ends[0] > ends[1]) reader.refuse("not a range [from, to]");
    return {ends[0], ends[1]};
}

Row row(Reader& reader) {
    std::optional<std::string> collective;
    std::optional<std::string> mockup;
    std::optional<Range> ranks;
    std::optional<Range> bytes;
    reader.object([&](const std::string& key) {
        if (key == "collective")
            collective = reader.string();
        else if (key == "mockup")
            mockup = reader.string();
        else if (key == "ranks")
            ranks = range(reader);
        else if (key == "bytes")
            bytes = range(reader);
        else
            reader.skip();
    });
    if (!collective || !mockup || !ranks || !bytes) {
        reader.refuse("a row needs collective, ranks, bytes and mockup");
        return {};
    }
    const auto of = mockups::collective_named(*collective);
    const mockups::Mockup* const found = of ? mockups::find(*of, *mockup) : nullptr;
    if (found == nullptr)
        reader.refuse("no mock-up '" + shortened(*mockup) + "' of a collective '" + shortened(*collective) +
                      "'");
    return {found, *ranks, *bytes};
}

}  // namespace

std::variant<Table, std::string> read_table(std::string_view text) {
    Reader reader(text);
    Table table;
    bool has_rows = false;
    std::int64_t schema = 0;
    reader.object([&](const std::string& key) {
        if (key == "schema") {
            schema = reader.integer();
        } else if (key == "mpi") {
            table.mpi = reader.string();
        } else if (key == "rows") {
            has_rows = true;
            reader.array([&] { table.rows.push_back(row(reader)); });
        } else {
            reader.skip();
        }
    });
    reader.end();
    if (reader.wrong().empty() && schema != 1) reader.refuse("its schema is not 1");
    if (reader.wrong().empty() && (!has_rows || table.mpi.empty())) reader.refuse("it has no rows or no mpi");
    if (!reader.wrong().empty()) return reader.wrong();
    return table;
}

bool names_library(std::string_view mpi, std::string_view library_version) {
    constexpr std::pair<std::string_view, std::string_view> says[] = {
        {"openmpi", "Open MPI"}, {"impi", "Intel"},     {"intelmpi", "Intel"},
        {"mvapich", "MVAPICH"},  {"craympich", "CRAY"}, {"mpich", "MPICH"},
    };
    const std::size_t dash = mpi.rfind('-');
    if (dash == std::string_view::npos) return false;
    const std::string_view name = mpi.substr(0, dash);
    const std::string_view version = mpi.substr(dash + 1);
    bool is_known = false;
    for (const auto& [called, said] : says)
        if (name == called) {
            is_known = true;
            if (library_version.find(said) == std::string_view::npos) return false;
        }
    const std::size_t at = library_version.find(version);
    if (!is_known || version.empty() || at == std::string_view::npos) return false;
    // 5.0.2 is not the beginning of 5.0.20, nor the end of 15.0.2.
    const auto is_number = [&](std::size_t place) {
        return place < library_version.size() &&
               std::isdigit(static_cast<unsigned char>(library_version[place])) != 0;
    };
    return !is_number(at + version.size()) && (at == 0 || !is_number(at - 1));
}

}  // namespace slowpath::replace
