// SPDX-License-Identifier: Apache-2.0
#include "mpi/tools.hpp"

#include <algorithm>
#include <array>

#include "core/json.hpp"
#include "mpi/tool_names.hpp"
#include "mpi/tool_value.hpp"

namespace slowpath::mpi {
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
