// SPDX-License-Identifier: Apache-2.0
#include "plant/clause.hpp"

#include <cstdlib>
#include <cstring>

namespace slowpath::plant {
namespace {

template <class Value>
struct Named {
    const char* name;
    Value value;
};

constexpr Named<Quantity> quantity_names[] = {
    {"bytes", Quantity::bytes},         {"allocation", Quantity::allocation},
    {"start", Quantity::start},         {"use", Quantity::use},
    {"others", Quantity::others},       {"index", Quantity::index},
    {"rank", Quantity::rank},           {"peer", Quantity::peer},
    {"idle_s", Quantity::idle_s},       {"wildcard", Quantity::wildcard},
    {"alloc_mem", Quantity::alloc_mem}, {"open", Quantity::open},
    {"root", Quantity::root},           {"in_place", Quantity::in_place},
};
constexpr Named<Per> per_names[] = {
    {"call", Per::call},   {"byte", Per::byte},   {"allocation", Per::allocation}, {"page", Per::page},
    {"block", Per::block}, {"queue", Per::queue}, {"index", Per::index},           {"second", Per::second},
};
constexpr Named<Place> place_names[] = {
    {"user", Place::user},
    {"kernel", Place::kernel},
    {"waiting", Place::waiting},
    {"cold", Place::cold},
};
constexpr Named<bool> law_names[] = {{"fixed", false}, {"exponential", true}};
constexpr const char* call_names[] = {"send",      "receive",   "put",     "get",   "wait",
                                      "waitall",   "test",      "barrier", "bcast", "reduce",
                                      "allreduce", "allgather", "alltoall"};
static_assert(sizeof call_names / sizeof *call_names == calls);

template <class Value, std::size_t count>
bool find(const Named<Value> (&names)[count], const char* name, Value& value) {
    for (const auto& one : names) {
        if (std::strcmp(one.name, name) != 0) continue;
        value = one.value;
        return true;
    }
    return false;
}

/// A number that is not negative; `rest` is what stands behind it.
bool read_number(const char* text, double& value, const char*& rest) {
    char* end = nullptr;
    value = std::strtod(text, &end);
    rest = end;
    return end != text && value >= 0 && value <= 1e300;
}

bool read_number(const char* text, double& value) {
    const char* rest = nullptr;
    return read_number(text, value, rest) && *rest == '\0';
}

bool is_whole(double value) {
    return value <= 1e15 && value == static_cast<double>(static_cast<std::uint64_t>(value));
}

const char* read_calls(const char* text, Clause& clause) {
    for (bool& one : clause.called) one = false;
    if (std::strcmp(text, "both") == 0) {
        clause.called[0] = clause.called[1] = true;
        return nullptr;
    }
    for (std::size_t i = 0; i < calls; ++i)
        if (std::strcmp(text, call_names[i]) == 0) clause.called[i] = true;
    for (const bool one : clause.called)
        if (one) return nullptr;
    return "call is none of send, receive, both, put, get, wait, waitall, test, barrier, bcast, reduce, "
           "allreduce, allgather and alltoall";
}

const char* read_per(const char* text, Clause& clause) {
    if (find(per_names, text, clause.per)) return nullptr;
    double granule = 0;
    if (!read_number(text, granule) || !is_whole(granule) || granule < 1)
        return "per is none of call, byte, allocation, page, block, queue, index, second and a number of "
               "bytes";
    clause.per = Per::granule;
    clause.granule = static_cast<std::uint64_t>(granule);
    return nullptr;
}

const char* read_share(const char* text, double& share, const char* wrong) {
    return read_number(text, share) && share <= 1 ? nullptr : wrong;
}

/// A word with '=' that is no condition; `known` is false where it is none of them.
const char* setting(const char* name, const char* value, Clause& clause, bool& known) {
    known = true;
    double number = 0;
    if (std::strcmp(name, "call") == 0) return read_calls(value, clause);
    if (std::strcmp(name, "per") == 0) return read_per(value, clause);
    if (std::strcmp(name, "place") == 0)
        return find(place_names, value, clause.place) ? nullptr
                                                      : "place is none of user, kernel, waiting and cold";
    if (std::strcmp(name, "law") == 0)
        return find(law_names, value, clause.exponential) ? nullptr : "law is neither fixed nor exponential";
    if (std::strcmp(name, "cost_s") == 0)
        return read_number(value, clause.cost_s) ? nullptr : "cost_s is no number of seconds";
    if (std::strcmp(name, "period_s") == 0)
        return read_number(value, clause.period_s) && clause.period_s > 0
                   ? nullptr
                   : "period_s is no number of seconds";
    if (std::strcmp(name, "chance") == 0)
        return read_share(value, clause.chance, "chance is no share from 0 to 1");
    if (std::strcmp(name, "coin") == 0) return read_share(value, clause.coin, "coin is no share from 0 to 1");
    if (std::strcmp(name, "environment") == 0) {
        std::strcpy(clause.environment, value);  // both are a word
        return *value != '\0' ? nullptr : "environment names no variable";
    }
    if (std::strcmp(name, "seed") == 0) {
        if (!read_number(value, number) || !is_whole(number)) return "seed is no whole number";
        clause.seed = static_cast<std::uint64_t>(number);
        return nullptr;
    }
    known = false;
    return nullptr;
}

const char* condition(const char* name, char sign, const char* value, Clause& clause) {
    Condition one;
    if (!find(quantity_names, name, one.quantity)) return "a word is neither a condition nor a setting";
    const char* rest = nullptr;
    if (!read_number(value, one.value, rest)) return "a condition compares with no number";
    one.relation = sign == '>' ? Relation::above : sign == '<' ? Relation::below : Relation::equal;
    if (sign == '%') {
        if (!is_whole(one.value) || one.value < 1) return "a remainder needs a whole number from 1 on";
        if (one.quantity == Quantity::idle_s) return "idle_s has no remainder";
        one.relation = *rest == '=' ? Relation::remainder : Relation::no_multiple;
        if (*rest == '=' && (!read_number(rest + 1, one.remainder, rest) || !is_whole(one.remainder)))
            return "a remainder is no whole number";
    }
    if (*rest != '\0') return "a condition ends in no number";
    if (clause.count == most_conditions) return "a clause has over 8 conditions";
    clause.conditions[clause.count++] = one;
    return nullptr;
}

/// What the words of one clause say beyond the clause itself.
struct Seen {
    bool any = false;
    bool cost = false;
    bool state = false;  ///< small_pages and cpu: of the whole process
};

const char* word(char* text, Clause& clause, Plants& plants, Seen& seen) {
    seen.any = true;
    if (std::strcmp(text, "small_pages") == 0) {
        plants.small_pages = seen.state = true;
        return nullptr;
    }
    const std::size_t length = std::strcspn(text, "<>=%");
    const char sign = text[length];
    if (sign == '\0') return "a word is neither a condition nor a setting";
    text[length] = '\0';
    const char* const value = text + length + 1;
    if (sign != '=') return condition(text, sign, value, clause);
    if (std::strcmp(text, "cpu") == 0) {
        double number = 0;
        if (!read_number(value, number) || !is_whole(number)) return "cpu is no number of a processor";
        plants.cpu = static_cast<std::int64_t>(number);
        seen.state = true;
        return nullptr;
    }
    bool known = false;
    if (const char* const wrong = setting(text, value, clause, known)) return wrong;
    seen.cost |= std::strcmp(text, "cost_s") == 0;
    return known ? nullptr : condition(text, sign, value, clause);
}

/// The next word into `text`, without blanks; the text behind it, or null when the clause is at its end.
const char* next_word(const char* text, char (&into)[longest_word], bool& too_long) {
    while (*text == ' ') ++text;
    const std::size_t length = std::strcspn(text, " ;");
    too_long = length >= longest_word;
    if (length == 0 || too_long) return nullptr;
    std::memcpy(into, text, length);
    into[length] = '\0';
    return text + length;
}

const char* clause(const char*& text, Plants& plants) {
    Clause one;
    Seen seen;
    char into[longest_word];
    bool too_long = false;
    while (const char* const rest = next_word(text, into, too_long)) {
        if (const char* const wrong = word(into, one, plants, seen)) return wrong;
        text = rest;
    }
    if (too_long) return "a word has over 63 characters";
    while (*text == ' ') ++text;
    if (!seen.any) return "a clause is empty";
    if (seen.state) return seen.cost || one.count > 0 ? "small_pages and cpu stand alone" : nullptr;
    if (!seen.cost && one.place != Place::cold) return "cost_s= is missing";
    if (seen.cost && one.place == Place::cold) return "place=cold has no cost_s: the machine decides";
    if (plants.count == most_clauses) return "there are over 4 clauses";
    plants.clauses[plants.count++] = one;
    return nullptr;
}

}  // namespace

const char* parse(const char* text, Plants& plants) {
    plants = Plants{};
    while (true) {
        if (const char* const wrong = clause(text, plants)) return wrong;
        if (*text == '\0') return nullptr;
        ++text;  // the ';'
    }
}

bool Plants::charges_by(Per per) const {
    for (std::size_t i = 0; i < count; ++i)
        if (clauses[i].per == per) return true;
    return false;
}

bool Plants::looks_at(Quantity quantity) const {
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < clauses[i].count; ++j)
            if (clauses[i].conditions[j].quantity == quantity) return true;
    return false;
}

}  // namespace slowpath::plant
