// SPDX-License-Identifier: Apache-2.0
// gpudirect_p2p_overalloc: is the first message from a GPU buffer slow because the buffer was allocated a
// little longer than needed? Plain MPI and CUDA (or HIP) runtime calls. Build it by one of these lines:
//
//     CC -O3 gpudirect_p2p_overalloc.cpp -o overalloc
//     mpicxx -O3 gpudirect_p2p_overalloc.cpp -o overalloc -lcudart
//     g++ -std=c++17 -O3 gpudirect_p2p_overalloc.cpp -o overalloc -lmpi -lcudart -lmpi_gtl_cuda
//
// -lmpi_gtl_cuda is the GTL of a GPU-aware Cray MPICH; leave it out with another MPI, and with CC, which adds
// it where a craype-accel module is loaded. For AMD GPUs write -lamdhip64 -lmpi_gtl_hsa. Leave the libraries
// of the GPU out where the compiler finds no cuda_runtime.h, or with -DHOST_ONLY: that program knows host
// memory only.
//
//     MPICH_GPU_SUPPORT_ENABLED=1 srun -n 2 ./overalloc 5 3 1024 1073741824 1
//
// The arguments are <num_iterations> <num_sub_iterations> <p2p_size> <buffer_size> <overalloc_size>. Rank 0
// sends p2p_size bytes to the last rank, num_sub_iterations times from each of num_iterations fresh buffers
// of buffer_size + overalloc_size bytes; then the same from buffers of buffer_size bytes, and no more than
// that. [i:j] is sub-iteration j of buffer i, in seconds, MPI_Barrier included. [-1] is one message from a
// buffer of its own length, with allocation and free: the first contact of the ranks and of the GPU. Cray
// MPICH takes its path between GPUs from MPICH_GPU_IPC_THRESHOLD bytes on, 1024 by default.
//
// --device 0:1 puts the sender's buffer on GPU 0 and the receiver's on GPU 1; by default the ranks of a node
// take its GPUs in turn. Within one GPU (0:0) and between two the times differ in kind: say which. --memory
// host takes host memory; no page of it is written before, as in the original, so that all pages of the
// sender are the kernel's one page of zeros. --touch write writes both buffers before the first message,
// write:none the sender's alone, none:write the receiver's.
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
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetErrorString hipGetErrorString
#define cudaMalloc hipMalloc
#define cudaSetDevice hipSetDevice
#define cudaSuccess hipSuccess
#endif
#endif

static int rank = 0, ranks = 0, last_rank = 0;
static bool in_host_memory = false;
static std::string touch, device;

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
    if (in_host_memory) {  // not malloc, which may give pages that were used before
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
    const std::string mine = device.substr(rank == 0 ? 0 : device.find(':') + 1);
    check_gpu(cudaSetDevice(device.empty() ? node_rank() % devices : std::atoi(mine.c_str())),
              "cudaSetDevice");
    check_gpu(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    return static_cast<char*>(memory);
#else
    fail("this program was built without CUDA and HIP; add --memory host");
#endif
}

static void release(char* memory, std::size_t bytes) {
    if (in_host_memory) {
        munmap(memory, std::max<std::size_t>(bytes, 1));
        return;
    }
#ifdef HAVE_GPU
    check_gpu(cudaFree(memory), "cudaFree");
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

static void test(std::size_t iterations, std::size_t sub_iterations, std::size_t p2p_size,
                 std::size_t alloc_size, const char* with) {
    const std::size_t message = std::min(p2p_size, alloc_size);
    const bool takes_part = rank == 0 || rank == last_rank;
    const std::size_t bytes =
        rank == 0 ? alloc_size : p2p_size;  // the receiver's buffer is never over-allocated: where
                                            // the library writes into it (UCX on one node), swap both
    barrier();
    if (rank == 1) {
        spin(0.1);
        std::cout << "Doing MPI_Send/Recv from rank 0 to rank " << last_rank << ", of " << message
                  << " bytes from a buffer of " << alloc_size << " bytes (" << with << " overalloc)."
                  << std::endl;
        spin(0.1);
    }
    barrier();
    for (std::size_t i = 0; i < iterations; ++i) {
        char* memory = takes_part ? allocate(bytes) : nullptr;
        if (takes_part) write_pages(memory, bytes);
        barrier();
        for (std::size_t j = 0; j < sub_iterations; ++j) {
            const Clock::time_point begin = Clock::now();
            transfer(memory, message);
            barrier();
            print_time(std::to_string(i) + ':' + std::to_string(j), begin);
        }
        if (takes_part) release(memory, bytes);
    }
}

static std::size_t number(const char* word) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end != '\0' || value > LLONG_MAX / 2)
        fail(std::string("'") + word + "' is no whole number in decimal digits below 2^62");
    return static_cast<std::size_t>(value);
}

static bool options(int argc, char** argv) {
    for (int i = 6; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--memory" && value == "host")
            in_host_memory = true;
        else if (name == "--device" && value.find_first_not_of("0123456789:") == std::string::npos)
            device = value;
        else if (name == "--touch" &&
                 (value == "none" || value == "write" || value == "write:none" || value == "none:write"))
            touch = value;
        else
            return false;
    }
    return argc >= 6 && argc % 2 == 0 && (touch.empty() || in_host_memory);
}

int main(int argc, char** argv) {
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    last_rank = ranks - 1;
    if (!options(argc, argv) || ranks < 2) {
        if (rank == 0)
            std::cerr
                << "usage: srun -n 2 gpudirect_p2p_overalloc <num_iterations> <num_sub_iterations> <p2p_size>"
                   " <buffer_size> <overalloc_size> [--device 0:1]"
                   " [--memory host [--touch none|write|write:none|none:write]]"
                << std::endl;
        MPI_Finalize();
        return 2;
    }
    const std::size_t iterations = number(argv[1]), sub_iterations = number(argv[2]),
                      p2p_size = number(argv[3]);
    const std::size_t buffer_size = number(argv[4]), overalloc_size = number(argv[5]);
    if (p2p_size > buffer_size + overalloc_size)
        fail("p2p_size must be at most buffer_size + overalloc_size");
    if (rank == 0) {
        if (in_host_memory) std::cout << "mem_type: host\n";
        if (!touch.empty()) std::cout << "touch: " << touch << '\n';
        if (!device.empty()) std::cout << "device: " << device << '\n';
        std::cout << "p2p_size: " << p2p_size << "\nbuffer_size: " << buffer_size
                  << "\noveralloc_size: " << overalloc_size << std::endl;
    }
    warm_up(p2p_size);
    test(iterations, sub_iterations, p2p_size, buffer_size + overalloc_size, "with");
    test(iterations, sub_iterations, p2p_size, buffer_size, "without");
    MPI_Finalize();
    return 0;
}
