// SPDX-License-Identifier: Apache-2.0
#include "put/openshmem.hpp"

#include <array>
#include <atomic>
#include <cstring>

#include "core/error.hpp"
#include "layers/burst_loop.hpp"
#include "layers/error.hpp"
#include "layers/library.hpp"

namespace slowpath::put {
namespace {

using layers::Burst;
using layers::Order;

constexpr std::size_t page_bytes = 4096;

/// What a burst needs in addition to layers::Burst: bursts are plain functions.
struct Library {
    OpenShmemFunctions functions;
    std::byte* target_base = nullptr;  ///< shmem_ptr of the target's memory; null: not reached by stores
};
Library library;

double* doubles(std::byte* address) {
    return reinterpret_cast<double*>(address);
}
const double* doubles(const std::byte* address) {
    return reinterpret_cast<const double*>(address);
}

/// Calls of shmem_double_put, or of shmem_double_put_nbi, which has the same arguments.
template <auto function>
struct Puts {
    template <Order order>
    static int run(const Burst& given) {
        const Burst burst = given;
        const auto put = library.functions.*function;
        const std::size_t count = burst.message_bytes / sizeof(double);
        return layers::run_puts<order>(burst, 1, [&](std::uint64_t place) {
            put(doubles(burst.local + place), doubles(burst.origin + place), count, burst.target);
            return int{layers::success};
        });
    }
};

/// A put of n words is n calls.
struct Words {
    template <Order order>
    static int run(const Burst& given) {
        const Burst burst = given;
        const auto p = library.functions.double_p;
        return layers::run_puts<order>(burst, 1, [&](std::uint64_t place) {
            for (std::uint64_t word = 0; word < burst.message_bytes; word += sizeof(double)) {
                double value;
                std::memcpy(&value, burst.origin + place + word, sizeof value);
                p(doubles(burst.local + place + word), value, burst.target);
            }
            return int{layers::success};
        });
    }
};

struct Stores {
    template <Order order>
    static int run(const Burst& given) {
        const Burst burst = given;
        std::byte* const base = library.target_base;
        if (burst.message_bytes != sizeof(double)) {
            return layers::run_puts<order>(burst, 1, [&](std::uint64_t place) {
                std::memcpy(base + place, burst.origin + place, burst.message_bytes);
                return int{layers::success};
            });
        }
        return layers::run_puts<order>(burst, 1, [&](std::uint64_t place) {
            std::memcpy(base + place, burst.origin + place, sizeof(double));
            return int{layers::success};
        });
    }
};

struct Design {
    std::string_view name;
    std::array<layers::RunPuts, layers::orders> puts;
};

constexpr std::array designs{
    Design{"openshmem_put", layers::in_all_orders<Puts<&OpenShmemFunctions::double_put>>()},
    Design{"openshmem_put_nbi", layers::in_all_orders<Puts<&OpenShmemFunctions::double_put_nbi>>()},
    Design{"openshmem_p", layers::in_all_orders<Words>()},
    Design{"openshmem_ptr", layers::in_all_orders<Stores>()},
};

layers::RunPuts loop_of(const Config& config) {
    for (const Design& design : designs)
        if (design.name == config.design) return design.puts[static_cast<std::size_t>(config.order)];
    throw UsageError("design=" + config.design + " is none of OpenSHMEM's");
}

class OpenShmemRunner final : public Runner {
  public:
    /// @param memory Symmetric, [layout.bytes()] on each rank.
    OpenShmemRunner(const Config& config, const Layout& layout, const OriginMemory& origin, std::byte* memory)
        : puts_(loop_of(config)), layout_(layout), memory_(memory) {
        burst_ = {.target = Pair::target,
                  .local = memory,
                  .origin = origin.data,
                  .message_bytes = static_cast<std::uint64_t>(config.message_bytes),
                  .slot_bytes = static_cast<std::uint64_t>(layout_.slot_bytes),
                  .mask = layout_.mask(),
                  .shuffled = layout_.shuffled.data(),
                  .puts = config.puts};
    }

    std::span<std::byte> memory() override { return {memory_, layout_.bytes()}; }

    /// Symmetric memory is always open to puts; the barrier keeps them apart from what the owner does with
    /// it.
    int begin_epoch() override {
        library.functions.barrier_all();
        return 0;
    }
    int end_epoch() override {
        library.functions.barrier_all();  // OpenSHMEM 1.4 section 9.9.1: completes all puts
        return 0;
    }

    int run(std::int64_t bursts) override {
        for (std::int64_t i = 0; i < bursts; ++i) {
            if (const int code = puts_(burst_)) [[unlikely]]
                return code;
            close();
        }
        return 0;
    }
    int puts() override { return puts_(burst_); }
    int close() override {
        library.functions.quiet();
        return 0;
    }
    void set_puts(std::int64_t puts) override { burst_.puts = puts; }

    std::string error_text(int code) const override {
        return "OpenSHMEM: " + std::string(layers::describe(code));
    }

    void release() override {
        library.functions.free(memory_);  // collective, with a barrier first
        memory_ = nullptr;
    }

  private:
    layers::RunPuts puts_;
    Layout layout_;  ///< a copy: the burst points into it
    std::byte* memory_;
    Burst burst_;
};

/// @return What keeps this rank from putting to the target, now that it has its memory.
std::optional<std::string> failure_of(const Config& config, std::byte* memory, std::size_t bytes) {
    if (memory == nullptr)
        return "OpenSHMEM's symmetric heap has no " + std::to_string(bytes) +
               " bytes left; set SHMEM_SYMMETRIC_SIZE to more";
    library.target_base = static_cast<std::byte*>(library.functions.ptr(memory, Pair::target));
    if (config.design == "openshmem_ptr" && library.target_base == nullptr)
        return "shmem_ptr gives no address of the target's memory: it is not reached by stores";
    return std::nullopt;
}

}  // namespace

Made make_openshmem_runner(const Config& config, const Layout& layout, const Pair& pair,
                           const OriginMemory& origin) {
    // Both ranks start it or neither does.
    if (const auto reason = pair.first_text(openshmem_unavailable()))
        return {nullptr, "design=" + config.design + ": " + *reason};
    library.functions = started_openshmem();
    auto* const memory = static_cast<std::byte*>(library.functions.align(page_bytes, layout.bytes()));
    if (const auto reason = pair.first_text(failure_of(config, memory, layout.bytes()))) {
        if (memory != nullptr) library.functions.free(memory);
        return {nullptr, "design=" + config.design + ": " + *reason};
    }
    return {std::make_unique<OpenShmemRunner>(config, layout, origin, memory), std::nullopt};
}

}  // namespace slowpath::put
