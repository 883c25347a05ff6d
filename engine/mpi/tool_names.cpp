// SPDX-License-Identifier: Apache-2.0
#include "mpi/tool_names.hpp"

#include <array>
#include <utility>

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

}  // namespace slowpath::mpi
