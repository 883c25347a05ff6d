// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/peers.hpp"

#include "mpi/check.hpp"

namespace slowpath::cannon::gpu {
namespace {

constexpr unsigned int lazy_peer_access =
    1;                          // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: the only flag that there is
constexpr int strips_each = 2;  // one of A, one of B

}  // namespace

Peers::Peers(const Cuda& cuda, const Layout& layout, Element element, MPI_Comm communicator,
             const DeviceStrips& strips)
    : cuda_(cuda), layout_(layout), element_bytes_(input_bytes(element)) {
    int size = 1;
    mpi::check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    mpi::check(MPI_Comm_rank(communicator, &rank_), "MPI_Comm_rank");
    std::array<IpcHandle, strips_each> mine{};
    try {
        cuda_.check(cuda_.call().cuIpcGetMemHandle(&mine[0], strips.a.get()), "cuIpcGetMemHandle");
        cuda_.check(cuda_.call().cuIpcGetMemHandle(&mine[1], strips.b.get()), "cuIpcGetMemHandle");
    } catch (const memory::Error& error) {
        open_failed_ = error.what();
    }
    std::vector<IpcHandle> handles(static_cast<std::size_t>(size) * strips_each);
    constexpr int bytes = strips_each * static_cast<int>(sizeof(IpcHandle));
    mpi::check(MPI_Allgather(mine.data(), bytes, MPI_BYTE, handles.data(), bytes, MPI_BYTE, communicator),
               "MPI_Allgather");
    try {
        open_all(handles, strips);
    } catch (const memory::Error& error) {
        if (!open_failed_) open_failed_ = error.what();
    }
}

/// Rank (i, j) starts with A's strip of class (i + j) mod C and B's of class (i + j) mod R, so that class s
/// of A stands in column s - i, and class s of B in row s - j.
void Peers::open_all(const std::vector<IpcHandle>& handles, const DeviceStrips& strips) {
    for (int strip = 0; strip < layout_.columns; ++strip)
        a_.push_back(open(layout_.rank_at(layout_.row, strip - layout_.row), 0, strips.a.get(), handles));
    for (int strip = 0; strip < layout_.rows; ++strip)
        b_.push_back(
            open(layout_.rank_at(strip - layout_.column, layout_.column), 1, strips.b.get(), handles));
}

Peers::Strip Peers::open(int rank, std::size_t which, CudaDevicePointer mine,
                         const std::vector<IpcHandle>& handles) {
    if (rank == rank_) return {mine, true};  // a process can't open its own
    Strip strip;
    const IpcHandle& handle = handles[static_cast<std::size_t>(rank) * strips_each + which];
    cuda_.check(cuda_.call().cuIpcOpenMemHandle_v2(&strip.pointer, handle, lazy_peer_access),
                "cuIpcOpenMemHandle");
    return strip;
}

Peers::~Peers() {
    for (const std::vector<Strip>* const strips : {&a_, &b_})
        for (const Strip& strip : *strips)
            if (!strip.own) cuda_.call().cuIpcCloseMemHandle(strip.pointer);
}

PanelAddress Peers::a(int k) const {
    const Strip& strip = a_[static_cast<std::size_t>(k % layout_.columns)];
    return {strip.pointer + static_cast<CudaDevicePointer>(layout_.a_offset(k) * element_bytes_), strip.own};
}

PanelAddress Peers::b(int k) const {
    const Strip& strip = b_[static_cast<std::size_t>(k % layout_.rows)];
    return {strip.pointer + static_cast<CudaDevicePointer>(layout_.b_offset(k) * element_bytes_), strip.own};
}

}  // namespace slowpath::cannon::gpu
