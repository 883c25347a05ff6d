// SPDX-License-Identifier: Apache-2.0
// Each mock-up against the library's own call: the same bytes on every rank, nothing written elsewhere.
// Argument: "all", or one mock-up as "bcast circulant": with every case, whatever the number of ranks.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cases.hpp"
#include "mockups/mockups.hpp"
#include "mockups/process.hpp"
#include "mockups/workspace.hpp"

namespace {

using namespace slowpath::mockups;
using namespace slowpath::mockups::tests;

int wrong = 0;
std::vector<int> obstacles;  ///< of each case; the same on all ranks
int rank = 0;
int size = 1;

struct Case {
    const Mockup* mockup;
    const Kind* kind;
    MPI_Op op;
    int count;  ///< elements of a block
    int root;
    bool in_place;
};

std::string text(const Case& one) {
    return std::string(name(one.mockup->of)) + " " + std::string(one.mockup->name) + " " + one.kind->name +
           " x " + std::to_string(one.count) + " root " + std::to_string(one.root) +
           (one.in_place ? " in place" : "");
}

bool reduces(Collective of) {
    return of >= Collective::reduce && of <= Collective::exscan;
}
bool has_root(Collective of) {
    return of == Collective::bcast || of == Collective::gather || of == Collective::scatter ||
           of == Collective::reduce;
}
bool can_be_in_place(Collective of) {
    return of != Collective::barrier && of != Collective::bcast;
}
/// A rank of each block in what it sends, and in what it receives.
bool sends_blocks(Collective of) {
    return of == Collective::scatter || of == Collective::alltoall || of == Collective::reduce_scatter_block;
}
bool receives_blocks(Collective of) {
    return of == Collective::gather || of == Collective::allgather || of == Collective::alltoall;
}

/// Buffers of one call on this rank, made alike for the library and for the mock-up.
struct Call {
    Call(const Case& one, MPI_Comm communicator)
        : lengths(lengths_of(one)),
          send(*one.kind, elements(one, sends_blocks(one.mockup->of)), 3 * rank + 1),
          receive(*one.kind, receive_elements(one),
                  one.in_place || one.mockup->of == Collective::bcast ? rank + 7 : 5) {
        const bool here = !has_root(one.mockup->of) || rank == one.root;
        const bool in_place = one.in_place && here;
        const Collective of = one.mockup->of;
        const int count = one.count * one.kind->per_element;
        a = {.collective = of,
             .send = send.data(),
             .send_count = count,
             .send_type = one.kind->type,
             .receive = receive.data(),
             .receive_count = count,
             .receive_counts = lengths.data(),
             .receive_type = one.kind->type,
             .op = one.op,
             .root = one.root,
             .communicator = communicator};
        if (in_place && of == Collective::scatter) a.receive = MPI_IN_PLACE;
        if (in_place && of != Collective::scatter) a.send = MPI_IN_PLACE;
        // What is not significant on this rank may be anything.
        if (of == Collective::gather && !here) a.receive_count = -1, a.receive_type = MPI_DATATYPE_NULL;
        if (of == Collective::scatter && !here) a.send_count = -1, a.send_type = MPI_DATATYPE_NULL;
    }

    static std::vector<int> lengths_of(const Case& one) {
        std::vector<int> made;
        for (int r = 0; r < size; ++r) made.push_back(r % 2 == 0 ? one.count : one.count / 2);
        return made;
    }
    static int elements(const Case& one, bool blocks) {
        if (one.mockup->of == Collective::reduce_scatter) {
            int all = 0;
            for (const int length : lengths_of(one)) all += length;
            return all;
        }
        return blocks ? one.count * size : one.count;
    }
    static int receive_elements(const Case& one) {
        const Collective of = one.mockup->of;
        if (one.in_place && of == Collective::reduce_scatter_block) return one.count * size;
        if (of == Collective::reduce_scatter && !one.in_place)
            return lengths_of(one)[static_cast<std::size_t>(rank)];
        return elements(one, receives_blocks(of));
    }

    std::vector<int> lengths;
    Buffer send;
    Buffer receive;
    Arguments a{};
};

/// Only what the collective defines: an in-place reduce_scatter leaves the rest of the buffer undefined.
std::vector<std::byte> result(const Case& one, const Call& call) {
    std::vector<std::byte> all = call.receive.packed();
    int element = 0;
    MPI_Type_size(one.kind->type, &element);
    if (one.in_place && one.mockup->of == Collective::reduce_scatter_block)
        all.resize(static_cast<std::size_t>(one.count * element));
    if (one.in_place && one.mockup->of == Collective::reduce_scatter)
        all.resize(static_cast<std::size_t>(call.lengths[static_cast<std::size_t>(rank)] * element));
    if (one.mockup->of == Collective::exscan && rank == 0) all.clear();
    return all;
}

void fail(const Case& one, const char* what) {
    ++wrong;
    std::printf("rank %d of %d: %s: %s\n", rank, size, text(one).c_str(), what);
}

void compare(const Case& one, MPI_Comm communicator) {
    Call by_library(one, communicator);
    Call by_mockup(one, communicator);
    const char* const obstacle = one.mockup->obstacle(by_mockup.a);
    obstacles.push_back(obstacle == nullptr ? 0 : 1);
    if (obstacle != nullptr) return;
    if (call_library(by_library.a) != MPI_SUCCESS) fail(one, "the library refused its own call");
    Workspace& workspace = *workspace_of(communicator);
    if (one.mockup->sends && !workspace.can_send()) fail(one, "no tag is free");
    if (one.mockup->run(by_mockup.a, workspace) != MPI_SUCCESS) fail(one, "an error code");
    if (by_library.send.packed() != by_mockup.send.packed()) fail(one, "it wrote to what it sends");
    if (result(one, by_library) != result(one, by_mockup)) fail(one, "another result");
    if (by_library.receive.rest() != by_mockup.receive.rest()) fail(one, "it wrote where no data belong");
}

/// @param only One mock-up, as "bcast circulant"; "": all.  @param every Each case; else counts, roots and in
/// place in turn: with more ranks than cores a call takes a turn of the scheduler.
void all_cases(const std::vector<Kind>& all_kinds, MPI_Comm communicator, const std::string& only,
               bool every) {
    const int counts[] = {7, 1, 257, 0, 64};
    int turn = 0;
    for (const Mockup& mockup : mockups()) {
        const std::string called = std::string(name(mockup.of)) + " " + std::string(mockup.name);
        if (!only.empty() && called != only) continue;
        for (const Kind& kind : all_kinds) {
            if (!every && (&kind - all_kinds.data() + turn / 5) % 2 != 0) continue;
            if (mockup.of == Collective::barrier && kind.name != "int") continue;
            const std::vector<MPI_Op> ops = reduces(mockup.of) ? kind.ops : std::vector{MPI_OP_NULL};
            for (const MPI_Op op : ops)
                for (int i = 0; i < 5; ++i) {
                    ++turn;
                    if (!every && i != turn / 5 % 5) continue;
                    const int root = turn / 2 % 3 == 0 ? size - 1 : 0;
                    const bool in_place = turn % 2 == 0 && can_be_in_place(mockup.of);
                    compare({&mockup, &kind, op, counts[i], root, in_place}, communicator);
                    if (every && can_be_in_place(mockup.of))
                        compare({&mockup, &kind, op, counts[i], size - 1 - root, !in_place}, communicator);
                }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
    if (!begin()) return 2;
    const std::vector<Kind> all_kinds = kinds(rank);
    const std::string only = argc > 1 ? argv[1] : "";
    all_cases(all_kinds, communicator, only == "all" ? "" : only, size == 1 || !only.empty());
    MPI_Comm_free(&communicator);
    std::vector<int> sums(obstacles.size());
    MPI_Allreduce(obstacles.data(), sums.data(), static_cast<int>(sums.size()), MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    for (const int sum : sums) wrong += sum != 0 && sum != size ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%zu mock-ups, %d wrong\n", mockups().size(), wrong);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
