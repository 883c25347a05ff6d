// SPDX-License-Identifier: Apache-2.0
#include "p2p/ready_made.hpp"

#include "mpi/check.hpp"
#include "mpi/optional.hpp"
#include "p2p/patterns.hpp"

namespace slowpath::p2p {
namespace {

std::vector<MPI_Request> persistent_requests(const Endpoint& endpoint, const Lane& lane) {
    const bool both = endpoint.config().both_ways;
    std::vector<MPI_Request> all;
    endpoint.encoding().with_started([&](const auto& transfer) {
        std::byte* to = lane.in();
        for (int i = 0; (both || !lane.is_sender) && i < lane.in_flight; ++i, to += lane.stride_bytes)
            mpi::check(transfer.make_receive(to, lane.peer, lane.tag, &all.emplace_back(MPI_REQUEST_NULL)),
                       "MPI_Recv_init");
        for (int i = 0; (both || lane.is_sender) && i < lane.in_flight; ++i)
            mpi::check(
                transfer.make_send(lane.out(), lane.peer, lane.tag, &all.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Send_init");
    });
    return all;
}

std::vector<MPI_Request> partitioned_request([[maybe_unused]] const Endpoint& endpoint,
                                             [[maybe_unused]] const Lane& lane) {
    std::vector<MPI_Request> one{MPI_REQUEST_NULL};
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
    const auto each = static_cast<MPI_Count>(endpoint.config().message_bytes);
    std::byte* const data = endpoint.data() + lane.place_bytes;
    if (lane.is_sender)
        mpi::check(MPI_Psend_init(data, lane.in_flight, each, MPI_BYTE, lane.peer, lane.tag, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, one.data()),
                   "MPI_Psend_init");
    else
        mpi::check(MPI_Precv_init(data, lane.in_flight, each, MPI_BYTE, lane.peer, lane.tag, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, one.data()),
                   "MPI_Precv_init");
#endif
    return one;
}

}  // namespace

bool has_partitioned() {
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
    return mpi::is_there(&MPI_Psend_init) && mpi::is_there(&MPI_Pready);
#else
    return false;
#endif
}

ReadyMade::ReadyMade(const Endpoint& endpoint, const Lane& lane)
    : peer_(lane.peer),
      answer_tag_(lane.answer_tag()),
      partitions_(endpoint.config().is_partitioned() ? lane.in_flight : 0),
      is_sender_(lane.is_sender),
      answers_(!endpoint.config().both_ways),
      requests_(partitions_ > 0 ? partitioned_request(endpoint, lane) : persistent_requests(endpoint, lane)) {
}

ReadyMade::~ReadyMade() {
    for (MPI_Request& one : requests_)
        if (one != MPI_REQUEST_NULL) MPI_Request_free(&one);
}

int ReadyMade::start() {
    if (partitions_ == 0) return MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    int code = MPI_Start(requests_.data());
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
    for (int i = 0; is_sender_ && i < partitions_ && code == MPI_SUCCESS; ++i)
        code = MPI_Pready(i, requests_.front());
#endif
    return code;
}

int ReadyMade::answer() {
    if (is_sender_)
        return MPI_Recv(nullptr, 0, MPI_BYTE, peer_, answer_tag_, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Send(nullptr, 0, MPI_BYTE, peer_, answer_tag_, MPI_COMM_WORLD);
}

int ReadyMade::run(std::int64_t windows) {
    for (std::int64_t i = 0; i < windows; ++i) {
        int code = start();
        if (code == MPI_SUCCESS)
            code = MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        if (code == MPI_SUCCESS && answers_) code = answer();
        if (code != MPI_SUCCESS) [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

std::vector<ReadyMade> make_ready(const Endpoint& endpoint, const std::vector<Lane>& lanes) {
    std::vector<ReadyMade> all;
    all.reserve(lanes.size());
    for (const Lane& lane : lanes) all.emplace_back(endpoint, lane);
    return all;
}

}  // namespace slowpath::p2p
