// SPDX-License-Identifier: Apache-2.0
/// Rows of communicators, datatypes, files and what a program asks its library.
#include <algorithm>
#include <fstream>

#include "first_use/calls.hpp"
#include "first_use/uses.hpp"
#include "mpi/optional.hpp"

#ifdef SLOWPATH_HAVE_MPI_IO
#pragma weak MPI_File_open
#pragma weak MPI_File_close
#pragma weak MPI_File_write_at
#pragma weak MPI_File_read_at
#pragma weak MPI_File_iwrite_at
#pragma weak MPI_File_write
#pragma weak MPI_File_read
#pragma weak MPI_File_write_all
#pragma weak MPI_File_read_all
#pragma weak MPI_File_iwrite
#pragma weak MPI_File_iread
#pragma weak MPI_File_preallocate
#pragma weak MPI_File_set_size
#pragma weak MPI_File_write_at_all
#pragma weak MPI_File_read_at_all
#pragma weak MPI_File_set_view
#pragma weak MPI_File_sync
#pragma weak MPI_File_seek
#pragma weak MPI_File_get_size
#pragma weak MPI_File_get_position
#pragma weak MPI_File_delete
#pragma weak MPI_File_iread_at
#pragma weak MPI_File_write_shared
#pragma weak MPI_File_read_shared
#pragma weak MPI_File_write_ordered
#pragma weak MPI_File_read_ordered
#pragma weak MPI_File_seek_shared
#endif
extern "C" int MPI_Info_get_string(MPI_Info, const char*, int*, char*, int*) __attribute__((weak));
extern "C" int MPI_Comm_idup_with_info(MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*) __attribute__((weak));
#ifdef SLOWPATH_HAVE_MPI_SESSIONS
#pragma weak MPI_Session_init
#pragma weak MPI_Session_finalize
#pragma weak MPI_Group_from_session_pset
#pragma weak MPI_Comm_create_from_group
#endif

namespace slowpath::first_use {
namespace {

const Step make_info = STEP(MPI_Info_create(&s.info), MPI_Info_set(s.info, "slowpath", "calls"));
const Step free_info = STEP(MPI_Info_free(&s.info));

// Communicators, groups and topologies. What a use makes is freed after it.

const Step duplicate = STEP(MPI_Comm_dup(s.world, &s.made));

int adjacent(Stage& s) {
    const int to = (s.rank + 1) % s.size, from = (s.rank + s.size - 1) % s.size;
    return MPI_Dist_graph_create_adjacent(s.world, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED,
                                          MPI_INFO_NULL, 0, &s.made);
}

/// The first rank, and the others.
const Step split_halves = STEP(MPI_Comm_split(s.world, s.rank == 0 ? 0 : 1, s.rank, &s.half));
const Step free_halves = STEP(MPI_Comm_free(&s.half));
const Step connect = STEP(MPI_Intercomm_create(s.half, 0, s.world, s.rank == 0 ? 1 : 0, other_tag, &s.made));

Row makes(const char* name, Step timed) {
    return Row{name, timed}.around(nothing, free_made);
}

Row makes_group(const char* name, Step timed) {
    return Row{name, timed}
        .opened(
            [](Stage& s) {
                const int zero = 0;
                return first_of(
                    {MPI_Comm_group(s.world, &s.group), MPI_Group_incl(s.group, 1, &zero, &s.other_group)});
            },
            STEP(MPI_Group_free(&s.group), MPI_Group_free(&s.other_group)))
        .times(many);
}

std::vector<Row> communicators() {
    return {
        makes("comm_dup", duplicate),
        makes("comm_idup", STEP(MPI_Comm_idup(s.world, &s.made, REQUESTS), wait(s))),
        makes("comm_dup_with_info", STEP(MPI_Comm_dup_with_info(s.world, MPI_INFO_NULL, &s.made))),
        makes("comm_idup_with_info",
              STEP(MPI_Comm_idup_with_info(s.world, MPI_INFO_NULL, &s.made, REQUESTS), wait(s)))
            .where([] { return mpi::is_there(&MPI_Comm_idup_with_info); }),
        makes("comm_split", STEP(MPI_Comm_split(s.world, 0, s.rank, &s.made))),
        makes("comm_split_type",
              STEP(MPI_Comm_split_type(s.world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &s.made))),
        makes_group("comm_create", STEP(MPI_Comm_create(s.world, s.group, &s.made)))
            .around(nothing, free_made)
            .times(1),
        makes_group("comm_create_group", STEP(MPI_Comm_create_group(s.world, s.group, call_tag, &s.made)))
            .around(nothing, free_made)
            .times(1),
        Row{"comm_free", free_made}.around(duplicate),
        makes("cart_create", ring),
        makes("cart_sub",
              [](Stage& s) {
                  const int kept = 1;
                  MPI_Comm below = MPI_COMM_NULL;
                  const int code = MPI_Cart_sub(s.made, &kept, &below);
                  if (below != MPI_COMM_NULL) MPI_Comm_free(&below);
                  return code;
              })
            .around(ring, free_made),
        makes("graph_create",
              [](Stage& s) {
                  std::vector<int> ends(static_cast<std::size_t>(s.size)), edges(ends.size());
                  for (int i = 0; i < s.size; ++i) {
                      ends[static_cast<std::size_t>(i)] = i + 1;
                      edges[static_cast<std::size_t>(i)] = (i + 1) % s.size;
                  }
                  return MPI_Graph_create(s.world, s.size, ends.data(), edges.data(), 0, &s.made);
              }),
        makes("intercomm_create", connect).opened(split_halves, free_halves),
        makes("intercomm_merge", STEP(MPI_Intercomm_merge(s.neighbours, s.rank == 0 ? 0 : 1, &s.made)))
            .opened(STEP(split_halves(s), connect(s), keep_made(s)),
                    STEP(MPI_Comm_free(&s.neighbours), free_halves(s))),
        makes("dist_graph_create_adjacent", adjacent),
        makes("dist_graph_create",
              [](Stage& s) {
                  const int degree = 1, to = (s.rank + 1) % s.size;
                  return MPI_Dist_graph_create(s.world, 1, &s.rank, &degree, &to, MPI_UNWEIGHTED,
                                               MPI_INFO_NULL, 0, &s.made);
              }),
    };
}

std::vector<Row> groups() {
    return {
        Row{"comm_compare", STEP(MPI_Comm_compare(s.world, s.made, &s.number))}
            .opened(duplicate, free_made)
            .times(10),
        local("comm_group", STEP(MPI_Comm_group(s.world, &s.made_group), MPI_Group_free(&s.made_group))),
        Row{"group_free", STEP(MPI_Group_free(&s.made_group))}.around(
            STEP(MPI_Comm_group(s.world, &s.made_group))),
        local("comm_get_info", STEP(MPI_Comm_get_info(s.world, &s.made_info), MPI_Info_free(&s.made_info))),
        local("comm_rank", STEP(MPI_Comm_rank(s.world, &s.number))),
        local("comm_size", STEP(MPI_Comm_size(s.world, &s.number))),
        local("comm_test_inter", STEP(MPI_Comm_test_inter(s.world, &s.flag))),
        local("comm_get_name", STEP(MPI_Comm_get_name(s.world, s.text.data(), &s.length))),
        local("comm_set_name", STEP(MPI_Comm_set_name(s.world, "calls"))),
        makes_group("group_incl",
                    STEP(MPI_Group_incl(s.group, 1, &s.peer, &s.made_group), MPI_Group_free(&s.made_group))),
        makes_group("group_excl",
                    STEP(MPI_Group_excl(s.group, 1, &s.peer, &s.made_group), MPI_Group_free(&s.made_group))),
        makes_group("group_range_incl",
                    [](Stage& s) {
                        int range[1][3] = {{0, s.size - 1, 1}};
                        return first_of({MPI_Group_range_incl(s.group, 1, range, &s.made_group),
                                         MPI_Group_free(&s.made_group)});
                    }),
        makes_group("group_union", STEP(MPI_Group_union(s.group, s.other_group, &s.made_group),
                                        MPI_Group_free(&s.made_group))),
        makes_group("group_intersection", STEP(MPI_Group_intersection(s.group, s.other_group, &s.made_group),
                                               MPI_Group_free(&s.made_group))),
        makes_group("group_difference", STEP(MPI_Group_difference(s.group, s.other_group, &s.made_group),
                                             MPI_Group_free(&s.made_group))),
        makes_group("group_translate_ranks",
                    [](Stage& s) {
                        const int zero = 0;
                        return MPI_Group_translate_ranks(s.other_group, 1, &zero, s.group, &s.number);
                    }),
        makes_group("group_compare", STEP(MPI_Group_compare(s.group, s.other_group, &s.number))),
        local("cart_coords", STEP(MPI_Cart_coords(s.made, s.rank, 1, &s.number))).opened(ring, free_made),
        local("cart_rank", STEP(MPI_Cart_rank(s.made, &s.rank, &s.number))).opened(ring, free_made),
        local("cart_shift", STEP(MPI_Cart_shift(s.made, 0, 1, &s.number, &s.length))).opened(ring, free_made),
        local("dist_graph_neighbors", STEP(MPI_Dist_graph_neighbors(s.made, 1, &s.number, MPI_UNWEIGHTED, 1,
                                                                    &s.length, MPI_UNWEIGHTED)))
            .opened(adjacent, free_made),
        local("cart_get", STEP(MPI_Cart_get(s.made, 1, &s.number, &s.length, &s.position)))
            .opened(ring, free_made),
        local("topo_test", STEP(MPI_Topo_test(s.made, &s.number))).opened(ring, free_made),
        local("comm_set_info", STEP(MPI_Comm_set_info(s.world, s.info)))
            .opened(make_info, free_info)
            .times(10),
        local("dims_create",
              [](Stage& s) {
                  std::array<int, 3> dims{};
                  s.number = dims[0];
                  return MPI_Dims_create(4096, 3, dims.data());
              })
            .times(10),
    };
}

// Datatypes of 16 blocks, packing, memory and operations.

int commit(Stage& s, int code) {
    return first_of({code, MPI_Type_commit(&s.made_type), MPI_Type_free(&s.made_type)});
}

#define MADE(...) [](Stage& s) { return commit(s, __VA_ARGS__); }

Row makes_type(const char* name, Step timed) {
    return Row{name, timed}.times(20);
}

const Step make_vector = STEP(MPI_Type_vector(blocks, 1, 2, MPI_INT64_T, &s.type), MPI_Type_commit(&s.type));
const Step free_type = STEP(MPI_Type_free(&s.type));
const Step make_type_key = STEP(
    make_vector(s), MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &s.key, nullptr));
const Step free_type_key = STEP(free_type(s), MPI_Type_free_keyval(&s.key));

Row of_type(const char* name, Step timed) {
    return local(name, timed).opened(make_vector, free_type);
}

int pack(Stage& s) {
    s.position = 0;
    return MPI_Pack(OUT, s.packed.data(), static_cast<int>(s.packed.size()), &s.position, s.world);
}

int pack_external(Stage& s) {
    s.place = 0;
    return MPI_Pack_external("external32", OUT, s.packed.data(), static_cast<MPI_Aint>(s.packed.size()),
                             &s.place);
}

int make_room(Stage& s) {
    int code = MPI_Pack_size(s.items, s.unit, s.world, &s.length);
    if (code == MPI_SUCCESS) code = MPI_Pack_external_size("external32", s.items, s.unit, &s.extent);
    s.packed.resize(static_cast<std::size_t>(std::max<MPI_Aint>(s.length, s.extent)));
    return code;
}

const Step allocate = STEP(MPI_Alloc_mem(s.bytes(), MPI_INFO_NULL, static_cast<void*>(&s.memory)));
const Step release = STEP(MPI_Free_mem(s.memory));

void no_op(void*, void*, int*, MPI_Datatype*) {}

std::vector<Row> datatypes() {
    return {
        makes_type("type_contiguous", MADE(MPI_Type_contiguous(blocks, MPI_INT64_T, &s.made_type))),
        makes_type("type_vector", MADE(MPI_Type_vector(blocks, 1, 2, MPI_INT64_T, &s.made_type))),
        makes_type("type_hvector", MADE(MPI_Type_create_hvector(blocks, 1, 24, MPI_INT64_T, &s.made_type))),
        makes_type("type_indexed", MADE(MPI_Type_indexed(blocks, s.lengths.data(), s.places.data(),
                                                         MPI_INT64_T, &s.made_type))),
        makes_type("type_hindexed",
                   MADE(MPI_Type_create_hindexed(blocks, s.lengths.data(), s.byte_places.data(), MPI_INT64_T,
                                                 &s.made_type))),
        makes_type("type_indexed_block", MADE(MPI_Type_create_indexed_block(blocks, 1, s.places.data(),
                                                                            MPI_INT64_T, &s.made_type))),
        makes_type("type_struct", MADE(MPI_Type_create_struct(blocks, s.lengths.data(), s.byte_places.data(),
                                                              s.types.data(), &s.made_type))),
        makes_type("type_subarray",
                   [](Stage& s) {
                       const std::array<int, 2> sizes{blocks, 4}, inner{blocks, 2}, starts{0, 1};
                       return commit(s, MPI_Type_create_subarray(2, sizes.data(), inner.data(), starts.data(),
                                                                 MPI_ORDER_C, MPI_INT64_T, &s.made_type));
                   }),
        makes_type("type_create_darray",
                   [](Stage& s) {
                       const int length = blocks * 4, distribution = MPI_DISTRIBUTE_BLOCK,
                                 argument = MPI_DISTRIBUTE_DFLT_DARG;
                       return commit(
                           s, MPI_Type_create_darray(s.size, s.rank, 1, &length, &distribution, &argument,
                                                     &s.size, MPI_ORDER_C, MPI_INT64_T, &s.made_type));
                   }),
        Row{"type_free", free_type}.around(make_vector),
        makes_type("type_resized", MADE(MPI_Type_create_resized(MPI_INT64_T, 0, 16, &s.made_type))),
        of_type("type_dup", STEP(MPI_Type_dup(s.type, &s.made_type), MPI_Type_free(&s.made_type))).times(20),
        of_type("type_commit", STEP(MPI_Type_commit(&s.type))),
        of_type("type_get_true_extent", STEP(MPI_Type_get_true_extent(s.type, &s.place, &s.extent))),
        of_type("type_set_name", STEP(MPI_Type_set_name(s.type, "calls"))),
        of_type("type_size", STEP(MPI_Type_size(s.type, &s.number))),
        of_type("type_get_extent", STEP(MPI_Type_get_extent(s.type, &s.place, &s.extent))),
        of_type("type_get_contents",
                [](Stage& s) {
                    return MPI_Type_get_contents(s.type, 3, 0, 1, s.lengths.data(), s.byte_places.data(),
                                                 &s.made_type);
                }),
        of_type("type_set_attr", STEP(MPI_Type_set_attr(s.type, s.key, &s)))
            .opened(make_type_key, free_type_key),
        of_type("type_get_attr",
                [](Stage& s) {
                    void* value = nullptr;
                    return MPI_Type_get_attr(s.type, s.key, static_cast<void*>(&value), &s.flag);
                })
            .opened(make_type_key, free_type_key),
        of_type("type_get_envelope",
                STEP(MPI_Type_get_envelope(s.type, &s.number, &s.length, &s.position, &s.flag))),
    };
}

std::vector<Row> memory() {
    return {
        Row{"pack", pack}.opened(make_room, nothing).times(10),
        Row{"unpack",
            [](Stage& s) {
                s.position = 0;
                return MPI_Unpack(s.packed.data(), static_cast<int>(s.packed.size()), &s.position, IN,
                                  s.world);
            }}
            .opened(make_room, nothing)
            .around(pack)
            .times(10)
            .arriving(Arrives::at_itself),
        Row{"pack_external", pack_external}.opened(make_room, nothing).times(10),
        Row{"unpack_external",
            [](Stage& s) {
                s.place = 0;
                return MPI_Unpack_external("external32", s.packed.data(),
                                           static_cast<MPI_Aint>(s.packed.size()), &s.place, IN);
            }}
            .opened(make_room, nothing)
            .around(pack_external)
            .times(10)
            .arriving(Arrives::at_itself),
        local("pack_size", STEP(MPI_Pack_size(s.count, MPI_INT64_T, s.world, &s.number))),
        Row{"alloc_mem", allocate}.around(nothing, release),
        Row{"free_mem", release}.around(allocate),
        local("op_create", STEP(MPI_Op_create(no_op, 1, &s.op), MPI_Op_free(&s.op))),
        Row{"reduce_local", STEP(MPI_Reduce_local(s.out.data(), IN, s.sum))}.times(10),
    };
}

// What a program asks its library.

const Step count_received =
    STEP(MPI_Sendrecv(OUT, s.rank, call_tag, IN, s.rank, call_tag, s.world, &s.status));
const Step set_attribute = STEP(MPI_Comm_set_attr(s.world, s.key, &s));
const Step make_key =
    STEP(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &s.key, nullptr),
         set_attribute(s));
const Step free_key = STEP(MPI_Comm_delete_attr(s.world, s.key), MPI_Comm_free_keyval(&s.key));

int complete_generalised(Stage& s) {
    const auto query = [](void*, MPI_Status* status) -> int {
        MPI_Status_set_elements(status, MPI_BYTE, 0);
        MPI_Status_set_cancelled(status, 0);
        return MPI_SUCCESS;
    };
    const auto free = [](void*) -> int { return MPI_SUCCESS; };
    const auto cancel = [](void*, int) -> int { return MPI_SUCCESS; };
    return first_of({MPI_Grequest_start(query, free, cancel, nullptr, REQUESTS),
                     MPI_Grequest_complete(s.requests[0]), wait(s)});
}

std::vector<Row> questions() {
    return {
        local("wtime",
              [](Stage& s) -> int {
                  s.flag = MPI_Wtime() < 0 ? 1 : 0;
                  return MPI_SUCCESS;
              }),
        local("get_count", STEP(MPI_Get_count(&s.status, MPI_INT64_T, &s.number)))
            .opened(count_received, nothing),
        local("get_elements", STEP(MPI_Get_elements(&s.status, MPI_INT64_T, &s.number)))
            .opened(count_received, nothing),
        local("get_address", STEP(MPI_Get_address(s.in.data(), &s.place))),
        local("comm_set_attr", set_attribute).opened(make_key, free_key),
        Row{"comm_delete_attr", STEP(MPI_Comm_delete_attr(s.world, s.key))}
            .opened(make_key, free_key)
            .around(set_attribute, set_attribute),
        local("comm_get_attr",
              [](Stage& s) {
                  void* value = nullptr;
                  return MPI_Comm_get_attr(s.world, s.key, static_cast<void*>(&value), &s.flag);
              })
            .opened(make_key, free_key),
        local("comm_create_keyval",
              STEP(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &s.key, nullptr),
                   MPI_Comm_free_keyval(&s.key))),
        local("info_create", STEP(MPI_Info_create(&s.made_info), MPI_Info_free(&s.made_info))),
        local("info_set", STEP(MPI_Info_set(s.info, "slowpath", "calls"))).opened(make_info, free_info),
        local("info_get", STEP(MPI_Info_get(s.info, "slowpath", 16, s.text.data(), &s.flag)))
            .opened(make_info, free_info),
        Row{"info_free", free_info}.around(make_info),
        local("info_get_string",
              [](Stage& s) {
                  s.length = 16;
                  return MPI_Info_get_string(s.info, "slowpath", &s.length, s.text.data(), &s.flag);
              })
            .opened(make_info, free_info)
            .where([] { return mpi::is_there(&MPI_Info_get_string); }),
        local("info_dup", STEP(MPI_Info_dup(s.info, &s.made_info), MPI_Info_free(&s.made_info)))
            .opened(make_info, free_info),
    };
}

std::vector<Row> names() {
    return {
        local("comm_set_errhandler", STEP(MPI_Comm_set_errhandler(s.world, MPI_ERRORS_RETURN))),
        local("comm_get_errhandler",
              STEP(MPI_Comm_get_errhandler(s.world, &s.handler), MPI_Errhandler_free(&s.handler))),
        local("error_string", STEP(MPI_Error_string(MPI_ERR_COUNT, s.text.data(), &s.length))),
        local("error_class", STEP(MPI_Error_class(MPI_ERR_COUNT, &s.number))),
        local("get_processor_name", STEP(MPI_Get_processor_name(s.text.data(), &s.length))),
        local("get_version", STEP(MPI_Get_version(&s.number, &s.length))),
        local("get_library_version", STEP(MPI_Get_library_version(s.text.data(), &s.length))),
        local("initialized", STEP(MPI_Initialized(&s.flag))),
        local("query_thread", STEP(MPI_Query_thread(&s.number))),
        local("is_thread_main", STEP(MPI_Is_thread_main(&s.flag))),
        local("grequest_start", complete_generalised),
    };
}

// Sessions, beside the world that MPI_Init made.

#ifdef SLOWPATH_HAVE_MPI_SESSIONS
const Step open_session = STEP(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s.session));
const Step close_session = STEP(MPI_Session_finalize(&s.session));

Row of_session(const char* name, Step timed) {
    return Row{name, timed}.where([] { return mpi::is_there(&MPI_Session_init); });
}

std::vector<Row> sessions() {
    return {
        of_session("session_init", open_session).around(nothing, close_session),
        of_session("session_finalize", close_session).around(open_session),
        of_session(
            "comm_create_from_group",
            STEP(MPI_Comm_create_from_group(s.group, "slowpath", MPI_INFO_NULL, MPI_ERRORS_RETURN, &s.made)))
            .opened(STEP(open_session(s), MPI_Group_from_session_pset(s.session, "mpi://WORLD", &s.group)),
                    STEP(MPI_Group_free(&s.group), close_session(s)))
            .around(nothing, free_made),
    };
}
#else
std::vector<Row> sessions() {
    return {};
}
#endif

// One small file of all ranks of a node in TMPDIR, each rank with a part of its own.

#ifdef SLOWPATH_HAVE_MPI_IO
const Step open_file =
    STEP(MPI_File_open(s.node, s.path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &s.file));
const Step close_file = STEP(s.file == MPI_FILE_NULL ? MPI_SUCCESS : MPI_File_close(&s.file));

MPI_Offset part(const Stage& s) {
    return static_cast<MPI_Offset>(s.bytes()) * s.rank;
}

const Step write = STEP(MPI_File_write_at(s.file, part(s), OUT, &s.status));
const Step to_begin = STEP(MPI_File_seek(s.file, part(s), MPI_SEEK_SET));
const Step to_begin_of_all = STEP(write(s), MPI_File_seek_shared(s.file, 0, MPI_SEEK_SET));

Row on_file(const char* name, Step timed) {
    return Row{name, timed}.opened(open_file, close_file).where([] { return mpi::is_there(&MPI_File_open); });
}

Row asks_file(const char* name, Step timed) {
    return on_file(name, timed).times(many);
}

std::string own_path(const Stage& s) {
    return s.path + "-" + std::to_string(s.rank);
}

std::vector<Row> files() {
    return {
        on_file("file_open", open_file).around(nothing, close_file).opened(nothing, nothing),
        on_file("file_close", close_file).around(open_file).opened(nothing, nothing),
        on_file("file_write_at", write),
        on_file("file_iwrite_at", STEP(MPI_File_iwrite_at(s.file, part(s), OUT, REQUESTS))),
        on_file("file_iread_at", STEP(MPI_File_iread_at(s.file, part(s), IN, REQUESTS)))
            .around(write)
            .arriving(Arrives::at_itself),
        on_file("file_write_shared", STEP(MPI_File_write_shared(s.file, OUT, &s.status))),
        on_file("file_read_shared", STEP(MPI_File_read_shared(s.file, IN, &s.status)))
            .around(to_begin_of_all),
        on_file("file_write_ordered", STEP(MPI_File_write_ordered(s.file, OUT, &s.status))),
        on_file("file_read_ordered", STEP(MPI_File_read_ordered(s.file, IN, &s.status)))
            .around(to_begin_of_all),
        on_file("file_read_at", STEP(MPI_File_read_at(s.file, part(s), IN, &s.status)))
            .around(write)
            .arriving(Arrives::at_itself),
        on_file("file_write", STEP(MPI_File_write(s.file, OUT, &s.status))).around(to_begin),
        on_file("file_read", STEP(MPI_File_read(s.file, IN, &s.status))).around(STEP(write(s), to_begin(s))),
        on_file("file_write_all", STEP(MPI_File_write_all(s.file, OUT, &s.status))).around(to_begin),
        on_file("file_read_all", STEP(MPI_File_read_all(s.file, IN, &s.status)))
            .around(STEP(write(s), to_begin(s))),
        on_file("file_iwrite", STEP(MPI_File_iwrite(s.file, OUT, REQUESTS))).around(to_begin),
        on_file("file_iread", STEP(MPI_File_iread(s.file, IN, REQUESTS))).around(STEP(write(s), to_begin(s))),
        on_file("file_preallocate", STEP(MPI_File_preallocate(s.file, 65536))),
        on_file("file_set_size", STEP(MPI_File_set_size(s.file, 65536))),
        on_file("file_write_at_all", STEP(MPI_File_write_at_all(s.file, part(s), OUT, &s.status))),
        on_file("file_read_at_all", STEP(MPI_File_read_at_all(s.file, part(s), IN, &s.status)))
            .around(write)
            .arriving(Arrives::at_itself),
        on_file("file_set_view",
                STEP(MPI_File_set_view(s.file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL))),
        on_file("file_sync", STEP(MPI_File_sync(s.file))).around(write),
        on_file("file_seek", STEP(MPI_File_seek(s.file, 8, MPI_SEEK_SET))).times(many),
        asks_file("file_get_size", STEP(MPI_File_get_size(s.file, &s.offset))),
        asks_file("file_get_position", STEP(MPI_File_get_position(s.file, &s.offset))),
        on_file("file_delete", STEP(MPI_File_delete(own_path(s).c_str(), MPI_INFO_NULL)))
            .opened(nothing, nothing)
            .around([](Stage& s) -> int { return std::ofstream(own_path(s)) ? MPI_SUCCESS : MPI_ERR_FILE; }),
    };
}

#else
std::vector<Row> files() {
    return {};
}
#endif

}  // namespace

std::vector<Row> object_rows() {
    return joined(
        {communicators(), groups(), datatypes(), memory(), questions(), names(), sessions(), files()});
}

}  // namespace slowpath::first_use
