// SPDX-License-Identifier: Apache-2.0
#include "ipc/importer.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/pattern.hpp"
#include "ipc/process_description.hpp"

namespace slowpath::ipc {
namespace {

enum class Request : std::uint32_t { describe, import };

/// The allocations of one request, as this process sees them.
class Import {
  public:
    explicit Import(const ImportRequest& request)
        : request_(request),
          driver_(driver()),
          all_(request.shared.size()),
          mapped_(request.shared.size()),
          got_(static_cast<std::size_t>(request.access_bytes)),
          expected_(got_.size()) {}

    /// Each step is done for every allocation before the next one, so that all are open at once.
    std::vector<Imported> run() {
        driver_.cuda.use(request_.device, request_.allocation_bytes);
        each([this](std::size_t i) { open(i, Step::open); });
        each([this](std::size_t i) { access(i); });
        each([this](std::size_t i) { close(i, Step::close); });
        each([this](std::size_t i) { open(i, Step::reopen); });
        each([this](std::size_t i) { close(i, Step::close_again); });
        return all_;
    }

  private:
    template <class Body>
    void each(Body body) {
        for (std::size_t i = 0; i < all_.size(); ++i) body(i);
    }

    /// Time one call and check it afterwards.
    template <class Call>
    void step(std::size_t i, Step which, const char* name, Call call) {
        CudaResult code = 0;
        all_[i].times[static_cast<std::size_t>(which)] = timed(clock_, [&] { code = call(); });
        driver_.cuda.check(code, name, request_.allocation_bytes);
    }

    void open(std::size_t i, Step which) {
        step(i, which, "cuIpcOpenMemHandle", [&] {
            return driver_.call.cuIpcOpenMemHandle_v2(&mapped_[i], request_.shared[i].handle,
                                                      lazy_peer_access);
        });
        if (which == Step::open) all_[i].address = mapped_[i];
    }

    void close(std::size_t i, Step which) {
        step(i, which, "cuIpcCloseMemHandle", [&] { return driver_.call.cuIpcCloseMemHandle(mapped_[i]); });
    }

    void access(std::size_t i) {
        fill_pattern(expected_, request_.shared[i].seed, 0, false);
        fill_pattern(got_, request_.shared[i].seed, 0, true);
        const auto& call = driver_.cuda.call();
        step(i, Step::first_access, "cuMemcpyDtoH", [&] {
            const CudaResult code = call.cuMemcpyDtoH_v2(got_.data(), mapped_[i], got_.size());
            return code != 0 ? code : call.cuCtxSynchronize();
        });
        for (std::size_t at = 0; at < got_.size(); ++at) all_[i].wrong_bytes += got_[at] != expected_[at];
    }

    const ImportRequest& request_;
    const Driver& driver_;
    MonotonicClock clock_;
    std::vector<Imported> all_;
    std::vector<CudaDevicePointer> mapped_;
    std::vector<std::byte> got_;
    std::vector<std::byte> expected_;
};

Message answer_to(std::span<const std::byte> request) {
    Message answer;
    if (take<Request>(request) == Request::describe) {
        static_cast<void>(driver());
        const std::string text = describe_process(importer_rank);
        const auto bytes = std::as_bytes(std::span(text));
        answer.assign(bytes.begin(), bytes.end());
        return answer;
    }
    ImportRequest wanted{};
    wanted.device = take<int>(request);
    wanted.allocation_bytes = take<std::size_t>(request);
    wanted.access_bytes = take<std::int64_t>(request);
    while (!request.empty()) wanted.shared.push_back(take<Shared>(request));
    for (const Imported& one : Import(wanted).run()) append(answer, one);
    return answer;
}

Message request_of(Request kind) {
    Message message;
    append(message, kind);
    return message;
}

}  // namespace

int serve_imports(Channel& channel) {
    Message request;
    while (channel.receive(request)) {
        Message answer;
        try {
            answer = answer_to(request);
            answer.insert(answer.begin(), answer_ok);
        } catch (const std::exception& error) {
            const std::string text = std::string(error.what()) + ", in the importing process";
            const auto bytes = std::as_bytes(std::span(text));
            answer.assign(1, answer_error);
            answer.insert(answer.end(), bytes.begin(), bytes.end());
        }
        channel.send(answer);
    }
    return 0;
}

std::string describe_importer(Peer& importer) {
    const Message answer = importer.ask(request_of(Request::describe));
    return {reinterpret_cast<const char*>(answer.data()), answer.size()};
}

std::vector<Imported> import_all(Peer& importer, const ImportRequest& request) {
    Message message = request_of(Request::import);
    append(message, request.device);
    append(message, request.allocation_bytes);
    append(message, request.access_bytes);
    for (const Shared& shared : request.shared) append(message, shared);
    const Message answer = importer.ask(message);
    std::span<const std::byte> rest = answer;
    std::vector<Imported> imported;
    while (!rest.empty()) imported.push_back(take<Imported>(rest));
    return imported;
}

}  // namespace slowpath::ipc
