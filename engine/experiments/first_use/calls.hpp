// SPDX-License-Identifier: Apache-2.0
/// Calls of MPI that no other experiment measures, each as a row: what is timed, and what has to be done
/// around it.
#pragma once

#include <mpi.h>

#include <array>
#include <climits>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace slowpath::first_use {

inline constexpr int call_tag = 80, other_tag = 81;
inline constexpr int most_messages = 8;
inline constexpr int blocks = 16;  // of a derived datatype
inline constexpr int many = 100;   // of calls too short for one reading of the clock

/// What the calls of one rank take and make.
struct Stage {
    int rank, size;
    int count;  ///< of a message, in MPI_INT64_T
    bool is_first, is_last;
    int last, peer;  ///< the rank that receives; the other end of this one
    std::vector<std::int64_t> out{}, in{};
    std::vector<char> packed{}, attached{};
    MPI_Comm world = MPI_COMM_NULL, made = MPI_COMM_NULL, node = MPI_COMM_NULL;
    std::array<MPI_Request, most_messages> requests{};
    MPI_Request persistent = MPI_REQUEST_NULL;
    std::array<MPI_Request, most_messages> started{};
    MPI_Status status{};
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Group group = MPI_GROUP_NULL, other_group = MPI_GROUP_NULL, made_group = MPI_GROUP_NULL;
    MPI_Win window = MPI_WIN_NULL;
    void* memory = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL, made_type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    MPI_Info info = MPI_INFO_NULL, made_info = MPI_INFO_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
#ifdef SLOWPATH_HAVE_MPI_IO
    MPI_File file = MPI_FILE_NULL;
#endif
    std::string path{};
    int key = MPI_KEYVAL_INVALID, number = 0, flag = 0, position = 0, length = 0;
    MPI_Aint place = 0, extent = 0;
    std::array<int, blocks> lengths{}, places{};
    std::array<MPI_Aint, blocks> byte_places{};
    std::array<MPI_Datatype, blocks> types{};
    std::array<char, 8192> text{};  ///< MPI_MAX_LIBRARY_VERSION_STRING is the longest

    MPI_Aint bytes() const { return static_cast<MPI_Aint>(count) * 8; }
    std::int64_t* arriving(int place_among) {
        return in.data() + static_cast<std::size_t>(place_among) * static_cast<std::size_t>(count);
    }
};

using Step = int (*)(Stage&);

/// @param codes Of calls, made in their order.  @return The first that is not MPI_SUCCESS.
inline int first_of(std::initializer_list<int> codes) {
    for (const int code : codes)
        if (code != MPI_SUCCESS) return code;
    return MPI_SUCCESS;
}

inline int nothing(Stage&) {
    return MPI_SUCCESS;
}

/// A step of these calls, each made where the ones before it succeeded or not; its code is the first
/// failure's.
#define STEP(...) [](Stage& s) { return first_of({__VA_ARGS__}); }
// Arguments that many of them share.
#define OUT s.out.data(), s.count, MPI_INT64_T
#define IN s.in.data(), s.count, MPI_INT64_T
#define TO s.last, call_tag, s.world
#define TARGET s.last, 0, s.count, MPI_INT64_T
#define REQUESTS s.requests.data()
#define EIGHT most_messages, REQUESTS

enum class Who { all, first, last, both };
/// Where a message is to be found afterwards, and whose it is.
enum class Arrives { nowhere, at_last, at_both, at_first, at_itself };

struct Row {
    const char* name;
    Step timed;
    Who who = Who::all;
    Step before = nothing, after = nothing;  ///< each use, all ranks
    Step open = nothing, close = nothing;    ///< the cell, all ranks; open: collective
    int batch = 1;                           ///< of the later uses
    int calls = 1;                           ///< of the name, in what is timed once
    int messages = 1;
    int most_ranks = INT_MAX;
    Arrives arrives = Arrives::nowhere;
    bool (*is_there)() = nullptr;

    template <class Value>
    Row with(Value Row::*member, Value value) const {
        Row row = *this;
        row.*member = value;
        return row;
    }
    Row opened(Step opening, Step closing) const {
        return with(&Row::open, opening).with(&Row::close, closing);
    }
    Row around(Step preparing, Step finishing = nothing) const {
        return with(&Row::before, preparing).with(&Row::after, finishing);
    }
    Row by(Who ranks) const { return with(&Row::who, ranks); }
    Row times(int calls) const { return with(&Row::batch, calls); }
    Row holding(int number) const { return with(&Row::calls, number); }
    Row of(int number) const { return with(&Row::messages, number); }
    Row arriving(Arrives where) const { return with(&Row::arrives, where); }
};

/// Local calls, too short for one reading of the clock.
inline Row local(const char* name, Step timed) {
    return Row{name, timed}.times(many);
}

inline int wait(Stage& s) {
    return MPI_Wait(REQUESTS, &s.status);
}

inline int init_sends(Stage& s) {
    int code = MPI_SUCCESS;
    for (MPI_Request& request : s.started)
        if (code == MPI_SUCCESS) code = MPI_Send_init(OUT, TO, &request);
    return code;
}

inline int free_sends(Stage& s) {
    for (MPI_Request& request : s.started) MPI_Request_free(&request);
    return MPI_SUCCESS;
}

inline std::vector<Row> joined(std::initializer_list<std::vector<Row>> lists) {
    std::vector<Row> rows;
    for (const std::vector<Row>& list : lists) rows.insert(rows.end(), list.begin(), list.end());
    return rows;
}

/// Of messages and of one-sided access.
std::vector<Row> message_rows();
/// Of communicators, datatypes, files and what a program asks its library.
std::vector<Row> object_rows();

}  // namespace slowpath::first_use
