// SPDX-License-Identifier: Apache-2.0
#include "put/layer_runner.hpp"

#include <array>
#include <optional>

#include "layers/error.hpp"
#include "mpi/session.hpp"
#include "put/parameters.hpp"
#include "put/payload.hpp"
#include "put/window.hpp"

namespace slowpath::put {
namespace {

/// Both parts, as this process reaches them.
std::array<layers::Peer, 2> parts_of(const Window& window) {
    std::array<layers::Peer, 2> parts;
    for (int rank = 0; rank < 2; ++rank) {
        MPI_Aint bytes = 0;
        int unit_bytes = 1;
        void* base = nullptr;
        mpi::check(MPI_Win_shared_query(window.handle(), rank, &bytes, &unit_bytes, &base),
                   "MPI_Win_shared_query");
        parts[static_cast<std::size_t>(rank)] = {static_cast<std::byte*>(base),
                                                 static_cast<std::uint64_t>(bytes),
                                                 static_cast<std::uint32_t>(unit_bytes)};
    }
    return parts;
}

class LayerRunner final : public Runner {
  public:
    LayerRunner(const Config& config, const Layout& layout, const Pair& pair, const OriginMemory& origin,
                const layers::Design& design)
        : design_(design),
          puts_(design.puts[static_cast<std::size_t>(config.order)]),
          shared_(WindowKind::allocate_shared, layout.bytes(), find_window_info("default"), pair),
          window_(parts_of(shared_), pair.rank()),
          type_(layout.shape),
          bytes_(layout.bytes()) {
        // Layers take a shorter path where both sides have one datatype.
        if (config.two_datatypes()) target_type_.emplace(layout.target_shape);
        burst_ = {.window = &window_,
                  .target = Pair::target,
                  .local = shared_.base(),
                  .origin = origin.data,
                  .origin_type = type_.handle(),
                  .target_type = (target_type_ ? *target_type_ : type_).handle(),
                  .count = static_cast<int>(layout.count),
                  .message_bytes = static_cast<std::uint64_t>(config.message_bytes),
                  .slot_bytes = static_cast<std::uint64_t>(layout.slot_bytes),
                  .mask = layout.mask(),
                  .shuffled = layout.shuffled.data(),
                  .puts = config.puts};
    }

    std::span<std::byte> memory() override { return {shared_.base(), bytes_}; }

    void access(const std::function<void()>& body) override {
        body();
        // Stores of one process and loads of the other meet here (MPI-4.1 section 12.4).
        mpi::check(MPI_Win_lock_all(0, shared_.handle()), "MPI_Win_lock_all");
        mpi::check(MPI_Win_sync(shared_.handle()), "MPI_Win_sync");
        mpi::check(MPI_Win_unlock_all(shared_.handle()), "MPI_Win_unlock_all");
    }

    int begin_epoch() override {
        mpi::check(MPI_Win_lock_all(0, shared_.handle()), "MPI_Win_lock_all");
        window_.begin_epoch();
        return 0;
    }

    int end_epoch() override {
        window_.end_epoch();
        mpi::check(MPI_Win_sync(shared_.handle()), "MPI_Win_sync");
        mpi::check(MPI_Win_unlock_all(shared_.handle()), "MPI_Win_unlock_all");
        return 0;
    }

    int run(std::int64_t bursts) override {
        int first = 0;
        for (std::int64_t i = 0; i < bursts; ++i) {
            const int code = puts_(burst_);
            design_.synchronise(burst_);
            if (code != 0 && first == 0) [[unlikely]]
                first = code;
        }
        return first;
    }

    int puts() override { return puts_(burst_); }
    int close() override {
        design_.synchronise(burst_);
        return 0;
    }
    bool puts_are_calls() const override { return design_.call == layers::Call::library; }
    void set_puts(std::int64_t puts) override { burst_.puts = puts; }

    std::string error_text(int code) const override {
        return std::string(design_.name) + ": " + std::string(layers::describe(code));
    }

    void release() override { shared_.release(); }

  private:
    const layers::Design& design_;
    layers::RunPuts puts_;
    Window shared_;
    layers::Window window_;
    LayerType type_;
    std::optional<LayerType> target_type_;
    std::size_t bytes_;
    layers::Burst burst_;
};

}  // namespace

Made make_layer_runner(const Config& config, const Layout& layout, const Pair& pair,
                       const OriginMemory& origin) {
    if (!pair.one_node())
        return {nullptr,
                "design=" + config.design + ": the two ranks are on different nodes and share no memory"};
    const layers::Design& design = find_layer_design(config);
    if (design.puts[static_cast<std::size_t>(config.order)] == nullptr)
        return {nullptr, "design=" + config.design + " has no loop for this order"};
    return {std::make_unique<LayerRunner>(config, layout, pair, origin, design), std::nullopt};
}

}  // namespace slowpath::put
