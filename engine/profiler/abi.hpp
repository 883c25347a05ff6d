// SPDX-License-Identifier: Apache-2.0
/// NCCL's profiler interface as its versions 1 to 5 lay it out in memory: NCCL 2.23 looks for version 1, 2.24
/// and 2.25 for 2, 2.26 for 3, 2.27 for 4, 2.28 and later for 5 (later ones for 6 first). RCCL has the same
/// interface. Source: its documentation (plugins/profiler/README.md of NCCL). Fields that nobody here reads
/// stand for their room.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

namespace slowpath::profiler::abi {

/// Kinds of events: bits of the mask that a plugin asks for.
enum Kind : uint64_t {
    group = 1U << 0,
    collective = 1U << 1,
    p2p = 1U << 2,
    proxy_op = 1U << 3,
    kernel_channel = 1U << 6,
    group_call = 1U << 8,       // from version 5 on
    collective_call = 1U << 9,  // from version 5 on: the program's call itself
    p2p_call = 1U << 10,        // from version 5 on
};
inline constexpr int kernel_channel_stop =
    22;  // state of kernel_channel that brings the GPU's timer, from version 4 on
inline constexpr int success = 0;

struct ProxyOp {
    pid_t process;
    uint8_t channel;
    int peer, steps, chunk_bytes, is_send;
};

struct Event1 {
    uint8_t kind;
    void* parent;
    int rank;
    union {
        struct {
            const char* communicator_name;
            uint64_t communicator, number;
            uint8_t function;
            const void* from;
            void* to;
            size_t count;
            int root;
            uint8_t datatype;
            uint32_t reduction;
            size_t traffic_bytes;
            uint8_t channels, warps, algorithm, protocol;
            int is_collnet, is_nvls;
        } coll;
        struct {
            const char* communicator_name;
            uint64_t communicator;
            uint8_t function;
            void* buffer;
            uint8_t datatype;
            size_t count;
            int peer;
        } message;
        ProxyOp proxy;
    };
};

struct Event2 {
    uint8_t kind;
    void* parent;
    int rank;
    union {
        struct {
            const char* communicator_name;
            uint64_t communicator, number;
            const char* function;
            const void* from;
            void* to;
            size_t count;
            int root;
            const char* datatype;
            size_t traffic_bytes;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char* communicator_name;
            uint64_t communicator;
            const char* function;
            void* buffer;
            const char* datatype;
            size_t count;
            int peer;
        } message;
        ProxyOp proxy;
    };
};

struct Event3 {
    uint8_t kind;
    void* parent;
    int rank;
    union {
        struct {
            const char* communicator_name;
            uint64_t communicator, number;
            const char* function;
            const void* from;
            void* to;
            size_t count;
            int root;
            const char* datatype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char* communicator_name;
            uint64_t communicator;
            const char* function;
            void* buffer;
            const char* datatype;
            size_t count;
            int peer;
        } message;
        ProxyOp proxy;
    };
};

struct Event4 {
    uint8_t kind;
    void* parent;
    int rank;
    union {
        struct {
            uint64_t number;
            const char* function;
            const void* from;
            void* to;
            size_t count;
            int root;
            const char* datatype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char* function;
            void* buffer;
            const char* datatype;
            size_t count;
            int peer;
            uint8_t channels;
        } message;
        struct {
            uint8_t channel;
            uint64_t timer_ns;  // of the GPU
        } kernel;
        ProxyOp proxy;
    };
};

struct Event5 {
    uint64_t kind;
    void* parent;
    int rank;
    union {
        struct {
            const char* function;
            size_t count;
            const char* datatype;
            int root;
            void* stream;
            bool is_captured;
        } coll_call;
        struct {
            const char* function;
            size_t count;
            const char* datatype;
            void* stream;
            bool is_captured;
        } message_call;
        struct {
            uint64_t number;
            const char* function;
            const void* from;
            void* to;
            size_t count;
            int root;
            const char* datatype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
            void* group;
        } coll;
        struct {
            const char* function;
            void* buffer;
            const char* datatype;
            size_t count;
            int peer;
            uint8_t channels;
            void* group;
        } message;
        struct {
            uint8_t channel;
            uint64_t timer_ns;  // of the GPU
        } kernel;
        ProxyOp proxy;
    };
};

/// What comes with a state, of versions 4 and 5.
union StateArguments {
    size_t bytes;
    uint64_t timer_ns;
};

using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

/// The object that NCCL looks for, by its version. init is another function in three of them.
template <typename Event, typename Init>
struct Plugin {
    const char* name;
    Init init;
    int (*start)(void* context, void** handle, Event* event);
    int (*stop)(void* handle);
    int (*change)(void* handle, int state, StateArguments* arguments);
    int (*finalize)(void* context);
};
using Init1 = int (*)(void** context, int* mask);
using Init4 = int (*)(void** context, int* mask, const char* name, uint64_t communicator, int nodes,
                      int ranks, int rank, Log log);
using Init5 = int (*)(void** context, uint64_t communicator, int* mask, const char* name, int nodes,
                      int ranks, int rank, Log log);

/// Numbers of version 1, which has no names.
inline constexpr const char* functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                            "AllReduce", "SendRecv", "Send",      "Recv"};
inline constexpr const char* datatypes[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                            "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                            "ncclFloat64", "ncclBfloat16"};
inline constexpr const char* algorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                             "NVLS_TREE", "PAT"};
inline constexpr const char* protocols[] = {"LL", "LL128", "SIMPLE"};

}  // namespace slowpath::profiler::abi
