// SPDX-License-Identifier: Apache-2.0
#include "mpi/tool_value.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/json.hpp"
#include "mpi/tool_names.hpp"

namespace slowpath::mpi {
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

}  // namespace slowpath::mpi
