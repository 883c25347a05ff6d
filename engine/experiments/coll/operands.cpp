// SPDX-License-Identifier: Apache-2.0
#include "coll/operands.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/pattern.hpp"
#include "mpi/session.hpp"

namespace slowpath::coll {

namespace {

/// MPI passes how many elements of the type, which may be one of many numbers (MPI-4.1 section 6.9.5).
std::int64_t elements_of_unit = 1;

template <class T>
void add(void* in, void* in_out, int* units, MPI_Datatype*) {
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(in_out);
    const std::int64_t elements = *units * elements_of_unit;
    for (std::int64_t i = 0; i < elements; ++i) to[i] = static_cast<T>(to[i] + from[i]);
}

template <class T>
void compose(void* in, void* in_out, int* units, MPI_Datatype*) {
    constexpr unsigned half_bits = sizeof(T) == 1 ? 4 : 16;
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(in_out);
    const std::int64_t elements = *units * elements_of_unit;
    for (std::int64_t i = 0; i < elements; ++i)
        to[i] = static_cast<T>(composed<half_bits>(number_of(from[i]), number_of(to[i])));
}

MPI_User_function* function(Element element, bool ordered) {
    switch (element) {
        case Element::byte:
            return ordered ? compose<std::uint8_t> : add<std::uint8_t>;
        case Element::integer:
            return ordered ? compose<std::int32_t> : add<std::int32_t>;
        case Element::real:
            return ordered ? compose<double> : add<double>;
    }
    return nullptr;
}

}  // namespace

Operation::Operation(Element element, Op op, std::int64_t elements_a_unit) : ours_(op != Op::sum) {
    if (!ours_) return;
    elements_of_unit = elements_a_unit;
    const bool ordered = op == Op::user_ordered;
    mpi::check(MPI_Op_create(function(element, ordered), ordered ? 0 : 1, &op_), "MPI_Op_create");
}

Operation::~Operation() {
    if (ours_) MPI_Op_free(&op_);
}

namespace {

MPI_Datatype predefined(Element element, bool reduces) {
    switch (element) {
        case Element::byte:
            return reduces ? MPI_UINT8_T : MPI_BYTE;
        case Element::integer:
            return MPI_INT;
        case Element::real:
            return MPI_DOUBLE;
    }
    return MPI_DATATYPE_NULL;
}

std::string number_text(std::span<const std::byte> bytes, Element element, std::int64_t index) {
    const std::byte* const at =
        bytes.data() + index * static_cast<std::int64_t>(element == Element::byte      ? 1
                                                         : element == Element::integer ? sizeof(int)
                                                                                       : sizeof(double));
    if (element == Element::byte) return std::to_string(std::to_integer<int>(*at));
    if (element == Element::integer) {
        int number = 0;
        std::memcpy(&number, at, sizeof number);
        return std::to_string(number);
    }
    double number = 0;
    std::memcpy(&number, at, sizeof number);
    return std::to_string(number);
}

/// Blocks of a call with a count for each rank: as many as ranks or neighbours.
std::size_t blocks_of(const Place& place) {
    return traits(place.collective).between_neighbours ? neighbours_of(place.ranks, place.rank).size()
                                                       : static_cast<std::size_t>(place.ranks);
}

}  // namespace

Operands::Operands(const Config& config, const Place& place, std::uint64_t seed)
    : config_(config),
      place_(place),
      seed_(seed),
      element_bytes_(config.element_bytes()),
      operation_(config.element, config.op, config.one_type ? place.count : 1) {
    const MPI_Datatype element = predefined(config.element, traits(config.collective).reduces);
    type_ = element;
    if (config.one_type) {
        mpi::check(MPI_Type_contiguous(static_cast<int>(place.count), element, &type_),
                   "MPI_Type_contiguous");
        mpi::check(MPI_Type_commit(&type_), "MPI_Type_commit");
    }
    arguments_.collective = config.collective;
    arguments_.root = place.root;
    arguments_.op = traits(config.collective).reduces ? operation_.get() : MPI_OP_NULL;
    set_buffers();
    set_counts();
}

Operands::~Operands() {
    if (config_.one_type) MPI_Type_free(&type_);
}

bool Operands::here_in_place() const {
    return config_.in_place && (!traits(config_.collective).rooted || place_.is_root());
}

void Operands::set_buffers() {
    const auto bytes_of = [&](std::int64_t elements) {
        return static_cast<std::size_t>(elements * element_bytes_);
    };
    const std::size_t sent = bytes_of(sent_elements(place_));
    const std::size_t received = bytes_of(received_elements(place_));
    const bool scatters =
        config_.collective == Collective::scatter || config_.collective == Collective::scatterv;
    // Libraries compare the addresses of empty buffers as well.
    send_.reserve(1);
    receive_.reserve(1);
    if (!here_in_place()) {
        send_.resize(sent);
        receive_.resize(received);
        arguments_.send = send_.data();
        arguments_.receive = receive_.data();
    } else if (scatters) {  // the root's own block is where it was
        send_.resize(sent);
        arguments_.send = send_.data();
        arguments_.receive = MPI_IN_PLACE;
    } else {
        receive_.resize(std::max(sent, received));
        saved_.resize(sent);
        arguments_.send = MPI_IN_PLACE;
        arguments_.receive = receive_.data();
    }
}

void Operands::set_counts() {
    const int units = config_.one_type ? 1 : static_cast<int>(place_.count);
    const std::size_t blocks = blocks_of(place_);
    counts_.assign(blocks, units);
    if (place_.to_neighbours && !traits(config_.collective).between_neighbours) {
        counts_.assign(blocks, 0);
        for (const int other : neighbours_of(place_.ranks, place_.rank))
            counts_[static_cast<std::size_t>(other)] = units;
    }
    types_.assign(blocks, type_);
    const bool in_bytes = config_.collective == Collective::alltoallw;
    for (std::size_t i = 0; i < blocks; ++i) {
        const auto index = static_cast<int>(i);
        offsets_.push_back(static_cast<MPI_Aint>(index) * config_.message_bytes);
        displacements_.push_back(in_bytes ? static_cast<int>(offsets_.back()) : index * units);
    }
    arguments_.send_count = arguments_.receive_count = units;
    arguments_.send_counts = arguments_.receive_counts = counts_.data();
    arguments_.send_displacements = arguments_.receive_displacements = displacements_.data();
    arguments_.send_type = arguments_.receive_type = type_;
    arguments_.send_types = arguments_.receive_types = types_.data();
}

Numbers Operands::numbers(std::uint64_t number) const {
    // What is only moved may be any byte.
    const Op op = traits(config_.collective).reduces ? config_.op : Op::user;
    return {config_.element, op, mix(seed_, number)};
}

void Operands::prepare(std::uint64_t number) {
    content_ = number;
    fill(send_, numbers(number), place_.rank, 0);
    // Another content, so that an element that is not written is wrong.
    fill(receive_, numbers(~number), place_.rank, 0);
    fill(saved_, numbers(number), place_.rank, 0);
    const bool root_of_bcast = config_.collective == Collective::bcast && place_.is_root();
    if (root_of_bcast) fill(receive_, numbers(number), place_.rank, 0);
    restore();
}

void Operands::put_back() {
    std::memcpy(receive_.data() + in_place_at(place_) * element_bytes_, saved_.data(), saved_.size());
}

void Operands::compare(const char* when, Judgement& judgement) {
    if (arguments_.receive == MPI_IN_PLACE) return;
    for (const Piece& piece : pieces(place_)) {
        const auto length = static_cast<std::size_t>(piece.elements * element_bytes_);
        expected_.resize(length);
        expect(expected_, numbers(content_), piece);
        const auto got = std::span<const std::byte>(receive_).subspan(
            static_cast<std::size_t>(piece.at * element_bytes_), length);
        judgement.compared_bytes += static_cast<std::int64_t>(length);
        if (std::equal(got.begin(), got.end(), expected_.begin())) continue;
        std::int64_t wrong = 0, first = -1;
        for (std::int64_t i = 0; i < piece.elements; ++i) {
            const auto at = static_cast<std::size_t>(i * element_bytes_);
            if (std::memcmp(got.data() + at, expected_.data() + at,
                            static_cast<std::size_t>(element_bytes_)) == 0)
                continue;
            if (first < 0) first = i;
            ++wrong;
        }
        judgement.wrong_bytes += wrong * element_bytes_;
        if (judgement.first_wrong) continue;
        judgement.first_wrong =
            "wrong result of " + std::string(traits(config_.collective).name) + " " + when + ": on rank " +
            std::to_string(place_.rank) + " of the communicator element " + std::to_string(piece.at + first) +
            " is " + number_text(got, config_.element, first) + " and should be " +
            number_text(expected_, config_.element, first) + "; " + std::to_string(wrong) + " of " +
            std::to_string(piece.elements) + " elements of this block are wrong";
    }
}

}  // namespace slowpath::coll
