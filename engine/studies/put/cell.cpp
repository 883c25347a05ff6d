// SPDX-License-Identifier: Apache-2.0
#include "put/cell.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/pattern.hpp"
#include "mpi/session.hpp"
#include "put/count.hpp"
#include "put/origin.hpp"
#include "put/parameters.hpp"
#include "put/payload.hpp"
#include "put/program_memory.hpp"

namespace slowpath::put {
namespace {

/// Contents of the memory: one for the timed bursts, another for the burst after them.
enum Number : std::uint64_t { timed = 0, check = 1 };

class Cell {
  public:
    Cell(Context& context, const Config& config, const Pair& pair)
        : context_(context), config_(config), pair_(pair), layout_(layout_of(config)) {
        if (!pair.is_origin()) return;
        for (auto& memory : own_) memory.emplace(program_memory(layout_.bytes()));
    }

    CellResult run() {
        Made made = make_runner(config_, layout_, pair_, {own(0), own(1), own(2)});
        result_.skipped = pair_.first_text(made.failure);
        if (result_.skipped) return result_;  // one rank may have a window; it can't be freed alone
        runner_ = std::move(made.runner);
        if (const std::string note = pair_.is_origin() ? runner_->note() : ""; !note.empty())
            context_.record.events +=
                "note " + JsonObject().integer("cell", context_.cell).fields() + ", " + note + "\n";
        run_epochs();
        runner_->release();
        return result_;
    }

  private:
    void run_epochs() {
        const bool validates = config_.validate && moves_data(config_);
        fill(timed);
        if (!begin_and_first()) return;
        if (pair_.is_origin())
            run_origin();
        else
            serve_target(pair_, *runner_, context_.clock, config_.target_busy_s);
        require(runner_->end_epoch());
        pair_.barrier();
        if (validates && only_copies(config_.operation))
            compare(timed, longest_burst(), "after the timed bursts");
        if (validates) check_fresh_burst();
    }

    /// @return Whether the library can do it; else result_.skipped says why not.
    bool begin_and_first() {
        pair_.barrier();
        result_.skipped = pair_.first_text(failure_of(runner_->begin_epoch()));
        if (result_.skipped) return false;
        std::optional<std::string> failure;
        if (pair_.is_origin()) {
            origin_.emplace(context_, config_, pair_, *runner_);
            failure = origin_->first();
        } else {
            failure = failure_of(runner_->serve(pair_.of_origin(0)));
        }
        result_.skipped = pair_.first_text(failure);
        if (result_.skipped) static_cast<void>(runner_->end_epoch());
        return !result_.skipped;
    }

    void run_origin() {
        origin_->rest();
        count_instructions(context_, config_, pair_, *runner_);
        announce_end(pair_);
        result_.batch = origin_->batch;
        result_.steady_samples = origin_->steady_samples;
        result_.cut_by_time = origin_->cut_by_time;
    }

    /// One more burst with new bytes, so that what came earlier can't stand in for it.
    void check_fresh_burst() {
        pair_.barrier();
        fill(check);
        pair_.barrier();
        require(runner_->begin_epoch());
        require(pair_.is_origin() ? runner_->run(1) : runner_->serve(1));
        require(runner_->end_epoch());
        pair_.barrier();
        compare(check, config_.puts, "after one burst with new bytes");
    }

    Payload payload(Number number) const {
        return {config_, layout_, mix(mix(context_.seed, context_.cell), number)};
    }

    void fill(Number number) {
        const Payload contents = payload(number);
        if (pair_.is_origin()) {
            own_[0]->write(0, contents.before(Role::origin));
            own_[1]->write(0, contents.before(Role::results));
            own_[2]->write(0, contents.before(Role::target));  // a swap compares with what is there
        }
        const std::vector<std::byte> mine = contents.before(Role::target);
        runner_->access([&] { std::memcpy(runner_->memory().data(), mine.data(), mine.size()); });
    }

    /// Puts of the longest burst that copied the timed bytes: counting has bursts of its own length.
    std::int64_t longest_burst() const { return std::max(config_.puts, config_.instructions); }

    void compare(Number number, std::int64_t puts, const char* when) {
        const Payload contents = payload(number);
        if (pair_.is_origin()) {
            judge(contents.compare(Role::origin, puts, own_bytes(0)), "the origin's data", when);
            if (!only_copies(config_.operation))
                judge(contents.compare(Role::results, puts, own_bytes(1)), "the results", when);
            return;
        }
        runner_->access([&] {
            judge(contents.compare(Role::target, puts, runner_->memory()), "the target's window", when);
        });
    }

    void judge(const Difference& difference, const char* where, const char* when) {
        result_.compared_bytes += difference.compared_bytes;
        result_.wrong_bytes += difference.wrong_bytes;
        if (!difference.first_wrong || result_.wrong) return;
        result_.wrong = "wrong payload: " + std::to_string(difference.wrong_bytes) + " of " +
                        std::to_string(difference.compared_bytes) + " bytes of " + where +
                        ", the first at index " + std::to_string(*difference.first_wrong) + ", slots of " +
                        std::to_string(layout_.slot_bytes) + " bytes, " + when;
    }

    std::byte* own(std::size_t which) const { return own_[which] ? own_[which]->data() : nullptr; }
    std::span<const std::byte> own_bytes(std::size_t which) const { return {own(which), layout_.bytes()}; }

    std::optional<std::string> failure_of(int code) const {
        if (code == 0) return std::nullopt;
        return runner_->error_text(code);
    }
    void require(int code) const {
        if (code != 0) throw EnvironmentFailure(runner_->error_text(code));
    }

    Context& context_;
    const Config& config_;
    const Pair& pair_;
    Layout layout_;
    std::array<std::optional<memory::Buffer>, 3> own_;  ///< origin only: data, results, comparands
    std::unique_ptr<Runner> runner_;
    std::optional<Origin> origin_;
    CellResult result_;
};

}  // namespace

CellResult run_on_pair(Context& context, const Config& config, const Pair& pair) {
    return Cell(context, config, pair).run();
}

}  // namespace slowpath::put
