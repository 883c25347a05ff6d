// SPDX-License-Identifier: Apache-2.0
#include "p2p/init.hpp"

#include <algorithm>
#include <cstdint>

#include "mpi/session.hpp"
#include "mpi/transfer.hpp"

namespace slowpath::p2p {
namespace {

/// Beyond the switch from eager to rendezvous of the usual libraries, and quick in any memory.
constexpr std::int64_t longest_bytes = 1 << 20;
/// A GPU driver may put small allocations into one block of 2 MiB and share that block as a whole: a longer
/// one stands alone, so that it makes no part of a measured buffer known beforehand.
std::int64_t apart_bytes(memory::Kind kind) {
    constexpr std::int64_t mebibyte = 1 << 20;
    // A pool takes larger blocks from the system, whose length is not documented: whole ones, to leave no
    // rest in which a measured buffer could stand.
    return (kind == memory::Kind::device_pool ? 64 : 4) * mebibyte;
}

}  // namespace

InitExchange::InitExchange(Endpoint& endpoint) : endpoint_(endpoint) {
    if (!endpoint.roles().side) return;
    memory::Request request = request_for(endpoint.context(), endpoint.config(), *endpoint.roles().side);
    const std::int64_t message = std::min(endpoint.config().message_bytes, longest_bytes);
    const bool gpu = memory::needs_gpu(request.kind);
    request.bytes = static_cast<std::size_t>(gpu ? std::max(message, apart_bytes(request.kind)) : message);
    request.offset_bytes = 0;
    request.touch = memory::Touch::write;
    try {
        buffer_.emplace(request);
        endpoint.context().addresses.note(reinterpret_cast<std::uintptr_t>(buffer_->base()),
                                          buffer_->bytes());
    } catch (const std::exception& error) {
        failure_ = error.what();
    }
}

void InitExchange::run() {
    if (!buffer_) return;
    const mpi::SmallTransfer transfer{
        static_cast<int>(std::min(endpoint_.config().message_bytes, longest_bytes))};
    const int peer = endpoint_.roles().peer;
    endpoint_.barrier().wait();
    if (endpoint_.roles().receives()) {
        mpi::check(transfer.receive(buffer_->data(), peer, message_tag), "MPI_Recv");
        mpi::check(transfer.send(buffer_->data(), peer, message_tag), "MPI_Send");
        return;
    }
    endpoint_.begin_block(1);
    const std::int64_t begin_ns = endpoint_.context().clock.now_ns();
    const int sent = transfer.send(buffer_->data(), peer, message_tag);
    const int received = transfer.receive(buffer_->data(), peer, message_tag);
    const std::int64_t end_ns = endpoint_.context().clock.now_ns();
    mpi::check(sent, "MPI_Send");
    mpi::check(received, "MPI_Recv");
    endpoint_.samples().add(begin_ns, end_ns);
    endpoint_.end_block(Phase::init, 1, 0, false);
}

}  // namespace slowpath::p2p
