// SPDX-License-Identifier: Apache-2.0
/// Holds what library() says of the MPI in use against its mpi.h. Compiled with the MPI's wrapper, together
/// with library.cpp and what that needs; starts no MPI.
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "watch/imports.hpp"
#include "watch/library.hpp"

void slowpath::watch::withdraw_missing() {}  // no wrappers here

namespace {

using slowpath::watch::Word;
int failures = 0;

template <class Value>
Word word(Value value) {
    if constexpr (sizeof(Value) == 4)
        return static_cast<Word>(static_cast<unsigned>(value));
    else
        return (Word)value;
}

void expect(const char* name, Word has, Word wants) {
    if (has == wants) return;
    std::printf("%s: %#lx, mpi.h has %#lx\n", name, has, wants);
    ++failures;
}

}  // namespace

int main(int count, char** arguments) {
    const slowpath::watch::Library& it = slowpath::watch::library();
#define EXPECT(field, constant) expect(#constant, it.field, word(constant))
#define EXPECT_INT(field, constant) expect(#constant, word(it.field), word(static_cast<int>(constant)))
    EXPECT(comm_world, MPI_COMM_WORLD);
    EXPECT(comm_self, MPI_COMM_SELF);
    EXPECT(comm_null, MPI_COMM_NULL);
    EXPECT(request_null, MPI_REQUEST_NULL);
    EXPECT(datatype_null, MPI_DATATYPE_NULL);
    EXPECT(message_null, MPI_MESSAGE_NULL);
    EXPECT(status_ignore, MPI_STATUS_IGNORE);
    EXPECT(statuses_ignore, MPI_STATUSES_IGNORE);
    EXPECT(in_place, MPI_IN_PLACE);
    EXPECT(bottom, MPI_BOTTOM);
    EXPECT(no_op, MPI_NO_OP);
    EXPECT(replace, MPI_REPLACE);
    EXPECT_INT(any_source, MPI_ANY_SOURCE);
    EXPECT_INT(any_tag, MPI_ANY_TAG);
    EXPECT_INT(proc_null, MPI_PROC_NULL);
    EXPECT_INT(root, MPI_ROOT);
    EXPECT_INT(lock_exclusive, MPI_LOCK_EXCLUSIVE);
    EXPECT_INT(undefined, MPI_UNDEFINED);
    EXPECT(status_bytes, sizeof(MPI_Status));
    EXPECT(source_offset, offsetof(MPI_Status, MPI_SOURCE));
    EXPECT(tag_offset, offsetof(MPI_Status, MPI_TAG));
    EXPECT(error_offset, offsetof(MPI_Status, MPI_ERROR));
    expect("sizeof(MPI_Comm)", it.is_handle_pointer ? 8 : 4, sizeof(MPI_Comm));
    expect("a handle with an undefined upper half",
           it.handle(word(MPI_COMM_WORLD) | (it.is_handle_pointer ? 0 : Word{7} << 32)),
           word(MPI_COMM_WORLD));
    const MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    expect("second of an array", it.handle_at(requests, 1), word(MPI_REQUEST_NULL));
    expect("MPI_Comm_rank is found", slowpath::watch::function("Comm_rank") != nullptr, 1);
    expect("MPI_No_such is not", slowpath::watch::function("No_such") != nullptr, 0);
    const char* const names[] = {"unknown", "mpich", "openmpi", "abi"};
    const char* const name = names[static_cast<int>(it.interface)];
    std::printf("%s %s\n", name, it.path);
    return count == 2 && std::strcmp(name, arguments[1]) == 0 && failures == 0 ? MPI_SUCCESS : 1;
}
