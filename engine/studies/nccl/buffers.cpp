// SPDX-License-Identifier: Apache-2.0
#include "nccl/buffers.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace slowpath::nccl {
namespace {

constexpr std::int64_t chunk = std::int64_t{1} << 20;  // elements at once on the CPU

memory::Buffer allocate(std::int64_t elements, std::int64_t least_bytes, std::int64_t more_bytes,
                        int device) {
    memory::Request request;
    request.kind = memory::Kind::device;
    request.bytes = static_cast<std::size_t>(std::max(elements * element_bytes, least_bytes) + more_bytes);
    request.device = device;
    return memory::Buffer(request);
}

/// use(first element, elements) for all of them.
template <class Use>
void by_chunks(std::int64_t elements, const Use& use) {
    for (std::int64_t at = 0; at < elements; at += chunk) use(at, std::min(chunk, elements - at));
}

std::size_t in_bytes(std::int64_t elements) {
    return static_cast<std::size_t>(elements * element_bytes);
}

}  // namespace

Buffers::Buffers(const Call& call, std::int64_t buffer_bytes, std::int64_t overalloc_bytes, int device)
    : call_(call),
      from_(allocate(call.sent(), buffer_bytes, overalloc_bytes, device)),
      to_(allocate(call.received(), buffer_bytes, overalloc_bytes, device)) {}

void Buffers::fill(std::uint32_t salt) {
    std::vector<float> numbers(
        static_cast<std::size_t>(std::min(chunk, std::max(call_.sent(), call_.received()))));
    by_chunks(call_.sent(), [&](std::int64_t at, std::int64_t elements) {
        for (std::int64_t i = 0; i < elements; ++i)
            numbers[static_cast<std::size_t>(i)] = nccl::given(call_.rank, at + i, salt);
        from_.write(in_bytes(at), std::as_bytes(std::span(numbers)).first(in_bytes(elements)));
    });
    std::fill(numbers.begin(), numbers.end(), -1.0F);  // no number that is given, nor a sum of them
    by_chunks(call_.received(), [&](std::int64_t at, std::int64_t elements) {
        to_.write(in_bytes(at), std::as_bytes(std::span(numbers)).first(in_bytes(elements)));
    });
}

void Buffers::compare(std::uint32_t salt, const std::string& when) {
    std::vector<float> numbers(static_cast<std::size_t>(std::min(chunk, call_.received())));
    by_chunks(call_.received(), [&](std::int64_t at, std::int64_t elements) {
        to_.read(in_bytes(at), std::as_writable_bytes(std::span(numbers)).first(in_bytes(elements)));
        for (std::int64_t i = 0; i < elements; ++i) {
            const float found = numbers[static_cast<std::size_t>(i)];
            const float wanted = expected(call_, at + i, salt);
            if (found == wanted) continue;
            wrong_bytes += element_bytes;
            if (!first_wrong)
                first_wrong = "rank " + std::to_string(call_.rank) + ", element " + std::to_string(at + i) +
                              " " + when + ": " + std::to_string(found) + " in place of " +
                              std::to_string(wanted);
        }
    });
    compared_bytes += call_.received() * element_bytes;
}

}  // namespace slowpath::nccl
