// SPDX-License-Identifier: Apache-2.0
#include "mpi/tools.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/json.hpp"

namespace slowpath::mpi {

std::string tool_type_name(MPI_Datatype type) {
    const std::array<std::pair<MPI_Datatype, const char*>, 13> names{
        {{MPI_INT, "int"},
         {MPI_UNSIGNED, "unsigned"},
         {MPI_UNSIGNED_LONG, "unsigned long"},
         {MPI_UNSIGNED_LONG_LONG, "unsigned long long"},
         {MPI_COUNT, "count"},
         {MPI_CHAR, "text"},
         {MPI_C_BOOL, "bool"},
         {MPI_LONG, "long"},
         {MPI_DOUBLE, "double"},
         {MPI_INT32_T, "int32"},
         {MPI_UINT32_T, "uint32"},
         {MPI_INT64_T, "int64"},
         {MPI_UINT64_T, "uint64"}}};
    for (const auto& [known, name] : names)
        if (known == type) return name;
    return "other";
}

std::string performance_class_name(int kind) {
    switch (kind) {
        case MPI_T_PVAR_CLASS_STATE:
            return "state";
        case MPI_T_PVAR_CLASS_LEVEL:
            return "level";
        case MPI_T_PVAR_CLASS_SIZE:
            return "size";
        case MPI_T_PVAR_CLASS_PERCENTAGE:
            return "percentage";
        case MPI_T_PVAR_CLASS_HIGHWATERMARK:
            return "highwatermark";
        case MPI_T_PVAR_CLASS_LOWWATERMARK:
            return "lowwatermark";
        case MPI_T_PVAR_CLASS_COUNTER:
            return "counter";
        case MPI_T_PVAR_CLASS_AGGREGATE:
            return "aggregate";
        case MPI_T_PVAR_CLASS_TIMER:
            return "timer";
        default:
            return "generic";
    }
}

std::string tool_error_text(int code) {
    std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
    int length = 0;
    // MPI_Error_string knows the codes of the tool interface, too (MPI-4.1 section 15.3.10).
    if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS && length > 0) return text.data();
    return "error " + std::to_string(code);
}

namespace {

/// More would be a table, and no setting.
constexpr int most_elements = 1 << 16;

template <class Number>
std::string number_json(Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
        const std::string field = JsonObject().number("v", value).fields();
        return field.substr(field.find(':') + 2);
    } else {
        return std::to_string(value);
    }
}

template <class Number>
ToolValue numbers(int count, const std::function<int(void*)>& read) {
    // Zeroed, and longer than it says: a library may write a wider type than it reported.
    std::vector<Number> values(static_cast<std::size_t>(count) + 8);
    if (const int code = read(values.data()); code != MPI_SUCCESS) return {"null", tool_error_text(code)};
    if (count == 1) return {number_json(values[0]), std::nullopt};
    std::vector<std::string> words;
    for (int i = 0; i < count; ++i) words.push_back(number_json(values[static_cast<std::size_t>(i)]));
    return {json_array(words), std::nullopt};
}

ToolValue truth(int count, const std::function<int(void*)>& read) {
    if (count != 1) return {"null", "has " + std::to_string(count) + " elements"};
    // Room for an int: Open MPI keeps some of its flags in one.
    alignas(16) std::array<unsigned char, 16> flag{};
    if (const int code = read(flag.data()); code != MPI_SUCCESS) return {"null", tool_error_text(code)};
    return {flag[0] != 0 ? "true" : "false", std::nullopt};
}

ToolValue text(int count, const std::function<int(void*)>& read) {
    std::vector<char> letters(static_cast<std::size_t>(count) + 4096);
    if (const int code = read(letters.data()); code != MPI_SUCCESS) return {"null", tool_error_text(code)};
    letters.back() = '\0';
    return {json_text(letters.data()), std::nullopt};
}

}  // namespace

ToolValue read_tool_value(MPI_Datatype type, int count, const std::function<int(void*)>& read) {
    if (count < 1 || count > most_elements) return {"null", "has " + std::to_string(count) + " elements"};
    if (type == MPI_CHAR) return text(count, read);
    if (type == MPI_INT || type == MPI_INT32_T) return numbers<std::int32_t>(count, read);
    if (type == MPI_UNSIGNED || type == MPI_UINT32_T) return numbers<std::uint32_t>(count, read);
    if (type == MPI_C_BOOL) return truth(count, read);
    if (type == MPI_LONG) return numbers<long>(count, read);
    if (type == MPI_UNSIGNED_LONG) return numbers<unsigned long>(count, read);
    if (type == MPI_UNSIGNED_LONG_LONG) return numbers<unsigned long long>(count, read);
    if (type == MPI_UINT64_T) return numbers<std::uint64_t>(count, read);
    if (type == MPI_COUNT || type == MPI_INT64_T) return numbers<std::int64_t>(count, read);
    if (type == MPI_DOUBLE) return numbers<double>(count, read);
    return {"null", "is of a type that is not read"};
}

namespace {

constexpr int text_bytes = 4096;
constexpr std::size_t longest_description = 200;

/// What both kinds of variables have.
struct About {
    int code = MPI_SUCCESS;  ///< of asking for all this
    std::string name;
    std::string description;  ///< its first line
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int binding = MPI_T_BIND_NO_OBJECT;
    int kind = 0;  ///< performance variables: their class
    int continuous = 0;
};

std::string first_line(const char* text) {
    std::string line(text);
    line.resize(std::min({line.find_first_of("\r\n"), line.size(), longest_description}));
    return line;
}

About about_control(int index) {
    About about;
    std::array<char, text_bytes> name{}, description{};
    int name_length = text_bytes, description_length = text_bytes, verbosity = 0, scope = 0;
    MPI_T_enum values{};
    about.code = MPI_T_cvar_get_info(index, name.data(), &name_length, &verbosity, &about.type, &values,
                                     description.data(), &description_length, &about.binding, &scope);
    if (about.code != MPI_SUCCESS) return about;
    about.name = name.data();
    about.description = first_line(description.data());
    return about;
}

About about_performance(int index) {
    About about;
    std::array<char, text_bytes> name{}, description{};
    int name_length = text_bytes, description_length = text_bytes, verbosity = 0, read_only = 0, atomic = 0;
    MPI_T_enum values{};
    about.code = MPI_T_pvar_get_info(index, name.data(), &name_length, &verbosity, &about.kind, &about.type,
                                     &values, description.data(), &description_length, &about.binding,
                                     &read_only, &about.continuous, &atomic);
    if (about.code != MPI_SUCCESS) return about;
    about.name = name.data();
    about.description = first_line(description.data());
    return about;
}

/// What a variable has to be bound to.  @return nullptr: nothing; else in `reason` why it can't be bound.
void* object_for(int binding, MPI_Comm& world, std::optional<std::string>& reason) {
    if (binding == MPI_T_BIND_MPI_COMM) return &world;
    if (binding != MPI_T_BIND_NO_OBJECT) reason = "belongs to an MPI object that is no communicator";
    return nullptr;
}

ToolValue control_value(int index, const About& about) {
    MPI_Comm world = MPI_COMM_WORLD;
    std::optional<std::string> reason;
    void* const object = object_for(about.binding, world, reason);
    if (reason) return {"null", reason};
    MPI_T_cvar_handle handle{};
    int count = 0;
    if (const int code = MPI_T_cvar_handle_alloc(index, object, &handle, &count); code != MPI_SUCCESS)
        return {"null", tool_error_text(code)};
    ToolValue value =
        read_tool_value(about.type, count, [&](void* to) { return MPI_T_cvar_read(handle, to); });
    MPI_T_cvar_handle_free(&handle);
    return value;
}

JsonObject entry(const About& about, const ToolValue& value) {
    JsonObject one;
    one.text("name", about.name).raw("value", value.json).text("type", tool_type_name(about.type));
    one.text("description", about.description).text_or_null("reason", value.reason);
    return one;
}

/// One variable a line: a person can search it.
std::string file_text(const std::vector<std::string>& entries, const std::optional<std::string>& reason) {
    std::string text = "{\"reason\": " + (reason ? json_text(*reason) : "null") + ", \"variables\": [";
    for (std::size_t i = 0; i < entries.size(); ++i) text += (i == 0 ? "\n" : ",\n") + entries[i];
    return text + "\n]}\n";
}

}  // namespace

Tools::Tools() {
    int provided = 0;
    code_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
}

Tools::~Tools() {
    if (code_ != MPI_SUCCESS) return;
    for (Watched& one : watched_)
        if (!one.reason) MPI_T_pvar_handle_free(session_, &one.handle);
    if (has_session_) MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
}

std::string Tools::control_variables() const {
    if (code_ != MPI_SUCCESS) return file_text({}, tool_error_text(code_));
    int number = 0;
    if (const int code = MPI_T_cvar_get_num(&number); code != MPI_SUCCESS)
        return file_text({}, tool_error_text(code));
    std::vector<std::string> entries;
    for (int index = 0; index < number; ++index) {
        const About about = about_control(index);
        // Indices of variables that went away with their component stay free (MPI-4.1 section 15.3.6).
        if (about.code != MPI_SUCCESS || about.name.empty()) continue;
        entries.push_back(entry(about, control_value(index, about)).str());
    }
    return file_text(entries, std::nullopt);
}

Tools::Watched Tools::watch(int index) const {
    Watched one{index, std::nullopt, {}, 0};
    const About about = about_performance(index);
    MPI_Comm world = MPI_COMM_WORLD;
    void* const object = object_for(about.binding, world, one.reason);
    if (about.name.starts_with("mtl_psm")) one.reason = "Open MPI 4 crashes where no endpoint of psm is open";
    if (one.reason) return one;
    int code = MPI_T_pvar_handle_alloc(session_, index, object, &one.handle, &one.count);
    if (code == MPI_SUCCESS && about.continuous == 0) {
        code = MPI_T_pvar_start(session_, one.handle);
        if (code != MPI_SUCCESS) MPI_T_pvar_handle_free(session_, &one.handle);
    }
    if (code != MPI_SUCCESS) one.reason = tool_error_text(code);
    return one;
}

void Tools::start_performance_variables() {
    int number = 0;
    if (code_ != MPI_SUCCESS || MPI_T_pvar_get_num(&number) != MPI_SUCCESS || number == 0) return;
    has_session_ = MPI_T_pvar_session_create(&session_) == MPI_SUCCESS;
    for (int index = 0; has_session_ && index < number; ++index)
        if (about_performance(index).code == MPI_SUCCESS) watched_.push_back(watch(index));
}

std::string Tools::performance_variables() {
    if (code_ != MPI_SUCCESS) return file_text({}, tool_error_text(code_));
    std::vector<std::string> entries;
    for (Watched& one : watched_) {
        const About about = about_performance(one.index);
        ToolValue value{"null", one.reason};
        if (!one.reason)
            value = read_tool_value(about.type, one.count,
                                    [&](void* to) { return MPI_T_pvar_read(session_, one.handle, to); });
        JsonObject made = entry(about, value);
        entries.push_back(made.text("class", performance_class_name(about.kind)).str());
    }
    return file_text(entries, std::nullopt);
}

}  // namespace slowpath::mpi
