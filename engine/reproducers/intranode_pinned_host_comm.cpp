// SPDX-License-Identifier: Apache-2.0
// intranode_pinned_host_comm: do messages from pinned host memory travel slower within a node than those from
// pageable memory? Plain MPI and CUDA (or HIP) runtime calls. Build it by one of these lines:
//
//     CC -O3 intranode_pinned_host_comm.cpp -o pinned
//     mpicxx -O3 intranode_pinned_host_comm.cpp -o pinned -lcudart
//     g++ -std=c++17 -O3 intranode_pinned_host_comm.cpp -o pinned -lmpi -lcudart -lmpi_gtl_cuda
//
// -lmpi_gtl_cuda is the GTL of a GPU-aware Cray MPICH; leave it out with another MPI, and with CC, which adds
// it where a craype-accel module is loaded. For AMD GPUs write -lamdhip64 -lmpi_gtl_hsa. Leave the libraries
// of the GPU out where the compiler finds no cuda_runtime.h, or with -DHOST_ONLY: that program knows host
// memory only.
//
//     export MPICH_GPU_SUPPORT_ENABLED=1 MPICH_SMP_SINGLE_COPY_MODE=CMA
//     srun -n 2 -N 1 --cpu-bind=sockets ./pinned 2 5 pinned_host 134217728
//
// The arguments are <num_iterations> <num_sub_iterations> <mem_type> <p2p_size> [--touch <which>]; mem_type
// is host, pinned_host (cudaMallocHost) or device (cudaMalloc). Rank 0 sends p2p_size bytes to the last rank,
// num_sub_iterations times from each of num_iterations fresh buffers. [i:j] is sub-iteration j of buffer i,
// in seconds, MPI_Barrier included. [-1] is one message with allocation and free: the first contact of the
// ranks and of the GPU. Compare with mem_type host, with MPIR_CVAR_NO_LOCAL=1 (by the NIC inside the node),
// with -N 2 and with --cpu-bind=none.
//
// By default no page of the memory is written before, as in the original. Then all pages of a pageable sender
// are the kernel's one page of zeros, which is read from the cache; those of pinned memory are real ones. So
// compare host and pinned_host with --touch write as well: it writes both buffers before the first message;
// write:none writes the sender's alone, none:write the receiver's.
#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#if defined(__has_include) && !defined(HOST_ONLY)
#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#define HAVE_GPU
#elif __has_include(<hip/hip_runtime_api.h>)
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>
#define HAVE_GPU
#define cudaFree hipFree
#define cudaFreeHost hipHostFree
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetErrorString hipGetErrorString
#define cudaMalloc hipMalloc
#define cudaMallocHost hipHostMalloc
#define cudaSetDevice hipSetDevice
#define cudaSuccess hipSuccess
#endif
#endif

static int rank = 0, ranks = 0, last_rank = 0;
static std::string mem_type, touch = "none";

typedef std::chrono::steady_clock Clock;

// Launchers need time: they forward the lines of different ranks in no certain order, and may lose those of a
// job that is aborted at once. Sleeping would slow down the next message.
static void spin(double seconds) {
    const Clock::time_point begin = Clock::now();
    while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    }
}

[[noreturn]] static void fail(const std::string& what) {
    if (rank != 0) spin(1);  // rank 0 speaks for all if it fails as well
    std::cerr << "rank " + std::to_string(rank) + ": error: " + what + "\n" << std::flush;
    spin(0.2);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

static void check_mpi(int code, const char* call) {
    if (code != MPI_SUCCESS) fail(std::string(call) + " returned " + std::to_string(code));
}

#ifdef HAVE_GPU
static void check_gpu(decltype(cudaSuccess) code, const char* call) {
    if (code != cudaSuccess) fail(std::string(call) + ": " + cudaGetErrorString(code));
}

// Position among the ranks of this node, which take its visible GPUs in turn.
static int node_rank() {
    for (const char* name :
         {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID", "SLURM_LOCALID"})
        if (const char* text = std::getenv(name)) return std::atoi(text);
    return rank;
}
#endif

static char* allocate(std::size_t bytes) {
    if (mem_type == "host") {  // not malloc, which may give pages that were used before
        void* memory = mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) fail("mmap of " + std::to_string(bytes) + " bytes");
        return static_cast<char*>(memory);
    }
#ifdef HAVE_GPU
    int devices = 0;
    void* memory = nullptr;
    check_gpu(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices == 0) fail("no GPU");
    check_gpu(cudaSetDevice(node_rank() % devices), "cudaSetDevice");
    if (mem_type == "device")
        check_gpu(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    else
        check_gpu(cudaMallocHost(&memory, std::max<std::size_t>(bytes, 1)), "cudaMallocHost");
    return static_cast<char*>(memory);
#else
    fail("this program was built without CUDA and HIP; its mem_type is host");
#endif
}

static void release(char* memory, std::size_t bytes) {
    if (mem_type == "host") {
        munmap(memory, std::max<std::size_t>(bytes, 1));
        return;
    }
#ifdef HAVE_GPU
    if (mem_type == "device")
        check_gpu(cudaFree(memory), "cudaFree");
    else
        check_gpu(cudaFreeHost(memory), "cudaFreeHost");
#endif
}

// Writes each page, where --touch says so.
static void write_pages(char* memory, std::size_t bytes) {
    if (touch == "write" || touch == (rank == 0 ? "write:none" : "none:write")) std::memset(memory, 1, bytes);
}

static void transfer(char* memory, std::size_t bytes) {
#if MPI_VERSION >= 4
    const MPI_Count count = static_cast<MPI_Count>(bytes);
    if (bytes > INT_MAX) {
        if (rank == 0)
            check_mpi(MPI_Send_c(memory, count, MPI_CHAR, last_rank, 0, MPI_COMM_WORLD), "MPI_Send_c");
        else if (rank == last_rank)
            check_mpi(MPI_Recv_c(memory, count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                      "MPI_Recv_c");
        return;
    }
#else
    if (bytes > INT_MAX) fail("this MPI has no MPI_Send_c for messages over 2147483647 bytes");
#endif
    const int length = static_cast<int>(bytes);
    if (rank == 0)
        check_mpi(MPI_Send(memory, length, MPI_CHAR, last_rank, 0, MPI_COMM_WORLD), "MPI_Send");
    else if (rank == last_rank)
        check_mpi(MPI_Recv(memory, length, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
}

static void barrier() {
    check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static void print_time(const std::string& where, Clock::time_point begin) {
    const double time_s = std::chrono::duration<double>(Clock::now() - begin).count();
    if (rank == 0) std::cout << '[' << where << "] time: " << time_s << std::endl;
}

static void warm_up(std::size_t p2p_size) {
    const Clock::time_point begin = Clock::now();
    if (rank == 0 || rank == last_rank) {
        char* memory = allocate(p2p_size);
        transfer(memory, p2p_size);
        release(memory, p2p_size);
    }
    barrier();
    print_time("-1", begin);
}

static void test(std::size_t iterations, std::size_t sub_iterations, std::size_t p2p_size) {
    const bool takes_part = rank == 0 || rank == last_rank;
    barrier();
    if (rank == 1) {
        spin(0.1);
        std::cout << "Doing MPI_Send/Recv from rank 0 to rank " << last_rank << ", of " << p2p_size
                  << " bytes" << std::endl;
        spin(0.1);
    }
    barrier();
    for (std::size_t i = 0; i < iterations; ++i) {
        char* memory = takes_part ? allocate(p2p_size) : nullptr;
        if (takes_part) write_pages(memory, p2p_size);
        barrier();
        for (std::size_t j = 0; j < sub_iterations; ++j) {
            const Clock::time_point begin = Clock::now();
            transfer(memory, p2p_size);
            barrier();
            print_time(std::to_string(i) + ':' + std::to_string(j), begin);
        }
        if (takes_part) release(memory, p2p_size);
    }
}

static std::size_t number(const char* word) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end != '\0' || value > LLONG_MAX / 2)
        fail(std::string("'") + word + "' is no whole number in decimal digits below 2^62");
    return static_cast<std::size_t>(value);
}

int main(int argc, char** argv) {
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    last_rank = ranks - 1;
    const bool is_touched = argc == 7 && !std::strcmp(argv[5], "--touch");
    mem_type = argc == 5 || is_touched ? argv[3] : "";
    if (is_touched) touch = argv[6];
    const bool can_touch =
        touch == "none" ||
        (mem_type != "device" && (touch == "write" || touch == "write:none" || touch == "none:write"));
    if ((mem_type != "host" && mem_type != "pinned_host" && mem_type != "device") || !can_touch ||
        ranks < 2) {
        if (rank == 0)
            std::cerr << "usage: srun -n 2 intranode_pinned_host_comm <num_iterations> <num_sub_iterations>"
                         " host|pinned_host|device <p2p_size>"
                         " [--touch none|write|write:none|none:write; of host memory]"
                      << std::endl;
        MPI_Finalize();
        return 2;
    }
    const std::size_t iterations = number(argv[1]), sub_iterations = number(argv[2]),
                      p2p_size = number(argv[4]);
    if (rank == 0) {
        if (is_touched) std::cout << "touch: " << touch << '\n';
        std::cout << "mem_type: " << mem_type << "\np2p_size: " << p2p_size << std::endl;
    }
    warm_up(p2p_size);
    test(iterations, sub_iterations, p2p_size);
    MPI_Finalize();
    return 0;
}
