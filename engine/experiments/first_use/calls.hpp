// SPDX-License-Identifier: Apache-2.0
/// Calls of MPI that no other experiment measures, each as a row: what is timed, and what has to be done
/// around it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "first_use/first_use.hpp"

namespace slowpath::first_use {

inline constexpr int call_tag = 80, other_tag = 81;
inline constexpr int most_messages = 8;
inline constexpr int blocks = 16;  // of a derived datatype
inline constexpr int many = 20;    // local calls in a row

/// What the calls of one rank take and make.
struct Stage {
    int rank, size;
    int count;  ///< of a message, in MPI_INT64_T
    int peer;   ///< the other end of this one: the first rank's is the last one
    int from;   ///< whom a receive names: the peer or anyone
    int root;
    bool is_paired;                                        ///< the first rank or the last one
    MPI_Comm world = MPI_COMM_NULL, node = MPI_COMM_NULL;  ///< all ranks; those of this node
    WindowKind window_kind = WindowKind::allocate;
    int items = 0, run = 0,
        step = 0;  ///< a message: `items` of `unit`; numbers in one block; to the next message
    MPI_Datatype unit = MPI_DATATYPE_NULL;
    MPI_Op sum = MPI_OP_NULL;  ///< of reductions
    std::vector<std::int64_t> out{}, in{};
    const void* given = nullptr;                 ///< `out`, or MPI_IN_PLACE
    std::vector<int> counts{}, displacements{};  ///< a message for each rank
    std::vector<int> byte_displacements{};
    std::vector<MPI_Aint> places_of_all{};
    std::vector<MPI_Datatype> units{};
    std::vector<char> packed{}, attached{};
    std::vector<std::int64_t> exposed{};  ///< in windows that the program gives memory
    MPI_Comm made = MPI_COMM_NULL, neighbours = MPI_COMM_NULL, half = MPI_COMM_NULL;
    std::array<MPI_Request, most_messages> requests{}, sent{}, started{};
    MPI_Request own = MPI_REQUEST_NULL, persistent = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
    MPI_Status status{};
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Group group = MPI_GROUP_NULL, other_group = MPI_GROUP_NULL, made_group = MPI_GROUP_NULL;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Aint target = 0;  ///< displacement of the peer's part of a window
    void* memory = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL, made_type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    MPI_Info info = MPI_INFO_NULL, made_info = MPI_INFO_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
#ifdef SLOWPATH_HAVE_MPI_SESSIONS
    MPI_Session session = MPI_SESSION_NULL;
#endif
#ifdef SLOWPATH_HAVE_MPI_IO
    MPI_File file = MPI_FILE_NULL;
    MPI_Offset offset = 0;
#endif
    std::string path{};
    int key = MPI_KEYVAL_INVALID, number = 0, flag = 0, position = 0, length = 0;
    MPI_Aint place = 0, extent = 0;
    std::array<int, blocks> lengths{}, places{};
    std::array<MPI_Aint, blocks> byte_places{};
    std::array<MPI_Datatype, blocks> types{};
    std::array<char, 8192> text{};  ///< MPI_MAX_LIBRARY_VERSION_STRING is the longest

    MPI_Aint bytes() const { return static_cast<MPI_Aint>(count) * 8; }
    MPI_Aint window_bytes() const { return static_cast<MPI_Aint>(step) * 8; }
    /// Where number i of a message lies: a block, a gap as long, a block.
    std::size_t at(int i) const { return static_cast<std::size_t>(i / run * 2 * run + i % run); }
    std::int64_t* arriving(int place_among) {
        return in.data() + static_cast<std::size_t>(place_among) * static_cast<std::size_t>(step);
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
#define OUT s.out.data(), s.items, s.unit
#define IN s.in.data(), s.items, s.unit
#define TO s.peer, call_tag, s.world
#define FROM s.from, call_tag, s.world
#define TARGET s.peer, s.target, s.items, s.unit
#define REQUESTS s.requests.data()
#define EIGHT most_messages, REQUESTS

enum class Who { all, pair };
/// Where a message is to be found afterwards, and whose it is.
enum class Arrives { nowhere, from_peer, from_window, at_itself };

struct Row {
    const char* name;
    Step timed;
    Who who = Who::all;
    Step before = nothing, after = nothing;  ///< each use, ranks that take part
    Step open = nothing, close = nothing;    ///< the cell, all ranks; open: collective
    int in_a_row = 1;                        ///< of the later uses
    int messages = 1;
    int most_ranks = INT_MAX;
    Arrives arrives = Arrives::nowhere;
    bool (*is_there)() = nullptr;
    const char* request = "none";  ///< the call that made what is started
    bool is_of_all = false;        ///< buffers have a message of each rank
    bool is_on_ring = false;       ///< among the neighbours of a ring

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
    Row times(int calls) const { return with(&Row::in_a_row, calls); }
    Row of(int number) const { return with(&Row::messages, number); }
    Row on(const char* maker) const { return with(&Row::request, maker); }
    Row arriving(Arrives where) const { return with(&Row::arrives, where); }
    Row where(bool (*exists)()) const { return with(&Row::is_there, exists); }
};

/// Local calls, many in a row: the last of the later ones find their caches warm.
inline Row local(const char* name, Step timed) {
    return Row{name, timed}.times(many);
}

/// The first request, by the call that timed ones stand beside.
inline int wait(Stage& s) {
    return MPI_Wait(REQUESTS, &s.status);
}

inline int free_persistent(Stage& s) {
    for (MPI_Request* request : {&s.persistent, &s.other})
        if (*request != MPI_REQUEST_NULL) MPI_Request_free(request);
    return MPI_SUCCESS;
}

inline int free_made(Stage& s) {
    return s.made == MPI_COMM_NULL ? MPI_SUCCESS : MPI_Comm_free(&s.made);
}

/// A ring of all ranks.
inline int ring(Stage& s) {
    const int periodic = 1;
    return MPI_Cart_create(s.world, 1, &s.size, &periodic, 0, &s.made);
}

inline int keep_made(Stage& s) {
    s.neighbours = s.made;
    s.made = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

/// What is sent lies where the answer arrives.
inline int fill(Stage& s) {
    std::ranges::copy(s.out, s.in.begin());
    return MPI_SUCCESS;
}

inline std::vector<Row> joined(std::initializer_list<std::vector<Row>> lists) {
    std::vector<Row> rows;
    for (const std::vector<Row>& list : lists) rows.insert(rows.end(), list.begin(), list.end());
    return rows;
}

/// Of messages and of one-sided access.
std::vector<Row> message_rows();
/// Of collectives.
std::vector<Row> collective_rows();
/// Of communicators, datatypes, files and what a program asks its library.
std::vector<Row> object_rows();

}  // namespace slowpath::first_use
