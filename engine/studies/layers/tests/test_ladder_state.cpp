// SPDX-License-Identifier: Apache-2.0
// What rungs keep: handles, epochs, handlers, threads, device ranges, requests; and their bursts.
#include <gtest/gtest.h>

#include "layers/tests/ladder_parts.hpp"
#include "tests/text.hpp"

namespace {

using namespace slowpath::layers_test;

int put_word(int rung, std::uintptr_t window, int target) {
    static const std::uint64_t word = 0x0123456789abcdef;
    return put_of_rung[static_cast<std::size_t>(rung)](&word, 1, Datatype::bytes_8, target, 0, 1,
                                                       Datatype::bytes_8, window);
}

TEST(LadderState, Handles) {
    Parts parts;
    const std::uintptr_t no_windows[] = {0,
                                         parts.handle + 1,
                                         parts.handle ^ 1U << 26,
                                         parts.handle | 1U << 30,
                                         parts.handle ^ 3U << 30,
                                         parts.handle + 0x03ffff00U,
                                         reinterpret_cast<std::uintptr_t>(&parts.window)};
    for (int rung = handle_rung; rung < ladder_rung_count; ++rung) {
        EXPECT_EQ(put_word(rung, parts.handle, 1), success);
        for (const std::uintptr_t none : no_windows) {
            EXPECT_EQ(put_word(rung, none, 1), error_window);
            EXPECT_EQ(flush_of_rung[static_cast<std::size_t>(rung)](1, none), error_window);
        }
    }
    for (int rung = 2; rung < handle_rung; ++rung) EXPECT_EQ(put_word(rung, 0, 1), error_window);
}

TEST(LadderState, ManyWindows) {
    Parts parts;
    std::vector<std::unique_ptr<Window>> windows;
    std::vector<std::uint32_t> known;
    for (int i = 0; i < 1031; ++i) {
        windows.push_back(std::make_unique<Window>(parts.peers, 0));
        windows.back()->begin_epoch();
        known.push_back(slowpath_ladder_attach(windows.back().get()));
        EXPECT_TRUE(known.back() != 0 && put_word(12, known.back(), 1) == success);
    }
    EXPECT_EQ(slowpath_ladder_attach(windows[7].get()), known[7]);
    Window one_more(parts.peers, 0);
    EXPECT_EQ(slowpath_ladder_attach(&one_more), 0);
    slowpath_ladder_detach(known[500]);
    EXPECT_EQ(put_word(5, known[500], 1), error_window);
    EXPECT_EQ(slowpath_ladder_attach(&one_more), known[500]);
    slowpath_ladder_detach(known[500]);
    for (const std::uint32_t handle : known) slowpath_ladder_detach(handle);
}

TEST(LadderState, Epoch) {
    Parts parts;
    parts.window.end_epoch();
    EXPECT_EQ(slowpath_ladder_attach(&parts.window), parts.handle);
    for (int rung = 2; rung < ladder_rung_count; ++rung) {
        EXPECT_EQ(put_word(rung, parts.argument(rung), 1), error_epoch);
        EXPECT_EQ(flush_of_rung[static_cast<std::size_t>(rung)](1, parts.argument(rung)), error_epoch);
    }
    parts.window.begin_epoch();
    // The window is open, but the library does not know: its own state of the epoch answers.
    EXPECT_EQ(put_word(5, parts.handle, 1), success);
    EXPECT_EQ(put_word(6, parts.handle, 1), error_epoch);
    EXPECT_EQ(slowpath_ladder_attach(&parts.window), parts.handle);
    EXPECT_EQ(put_word(6, parts.handle, 1), success);
}

std::uintptr_t handled_window = 0;
int handled_code = 0;
int handler(std::uintptr_t window, int code) {
    handled_window = window;
    handled_code = code;
    return 100 + code;
}

TEST(LadderState, ErrorHandler) {
    Parts parts;
    EXPECT_EQ(put_word(2, parts.argument(2), 7), error_rank);
    slowpath_ladder_set_error_handler(parts.handle, handler);
    EXPECT_EQ(put_word(2, parts.argument(2), 7), error_rank);
    for (int rung = 3; rung < ladder_rung_count; ++rung) {
        handled_code = 0;
        EXPECT_EQ(put_word(rung, parts.argument(rung), 7), 100 + error_rank);
        EXPECT_TRUE(handled_code == error_rank && handled_window == parts.argument(rung));
        const std::string message = slowpath_ladder_last_error();
        EXPECT_TRUE(slowpath::test::contains(message, "target=7"));
        EXPECT_EQ(flush_of_rung[static_cast<std::size_t>(rung)](7, parts.argument(rung)), 100 + error_rank);
        EXPECT_TRUE(slowpath::test::contains(slowpath_ladder_last_error(), "flush(target=7"));
        EXPECT_EQ(put_word(rung, parts.argument(rung), 1), success);
    }
    slowpath_ladder_set_error_handler(parts.handle, nullptr);
    EXPECT_EQ(put_word(12, parts.argument(12), 7), error_rank);
}

TEST(LadderState, Threads) {
    Parts parts;
    slowpath_ladder_set_thread_multiple(true);
    constexpr int puts = 2000;
    const auto run = [&](int target) {
        for (int i = 0; i < puts; ++i) EXPECT_EQ(put_word(12, parts.handle, target), success);
    };
    std::thread first(run, 0);
    std::thread second(run, 1);
    first.join();
    second.join();
    EXPECT_EQ(slowpath_ladder_pending(parts.handle), 2 * puts);
    EXPECT_EQ(put_word(12, parts.handle, 7), error_rank);  // and the lock is given back
    EXPECT_EQ(slowpath_ladder_flush_12(1, parts.handle), success);
    EXPECT_EQ(slowpath_ladder_pending(parts.handle), 0);
    slowpath_ladder_set_thread_multiple(false);
}

int device_copies = 0;
void copy_from_device(void* to, const void* from, std::size_t bytes) {
    ++device_copies;
    std::memcpy(to, from, bytes);
}

TEST(LadderState, DeviceMemory) {
    Parts parts;
    const auto device = dense_bytes(4096);
    const auto host = dense_bytes(4096);
    EXPECT_TRUE(slowpath_ladder_add_device_range(device.data(), device.size(), copy_from_device));
    EXPECT_TRUE(slowpath_ladder_add_device_range(parts.peers[0].base + 128, 64, copy_from_device));
    for (int rung = 7; rung < ladder_rung_count; ++rung) {
        const auto put = [&](const std::byte* origin, int target, std::ptrdiff_t displacement) {
            device_copies = 0;
            EXPECT_EQ(put_of_rung[static_cast<std::size_t>(rung)](origin, 3, Datatype::bytes_8, target,
                                                                  displacement, 3, Datatype::bytes_8,
                                                                  parts.argument(rung)),
                      success);
            return device_copies;
        };
        const int expected = rung >= 8 ? 1 : 0;
        EXPECT_EQ(put(device.data(), 1, 0), expected);
        EXPECT_EQ(put(device.data() + 4072, 1, 4), expected);
        EXPECT_EQ(put(host.data(), 1, 0), 0);
        EXPECT_EQ(put(host.data(), 0, 128), expected);
        EXPECT_EQ(put(host.data(), 0, 192), 0);
        EXPECT_EQ(put(host.data(), 0, 104), 0);
        EXPECT_EQ(std::memcmp(parts.peers[0].base + 192, host.data(), 24), 0);
    }
    slowpath_ladder_clear_device_ranges();
    for (int i = 0; i < 16; ++i)
        EXPECT_TRUE(slowpath_ladder_add_device_range(host.data(), 1, copy_from_device));
    EXPECT_FALSE(slowpath_ladder_add_device_range(host.data(), 1, copy_from_device));
    slowpath_ladder_clear_device_ranges();
}

TEST(LadderState, Requests) {
    Parts parts;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(put_word(12, parts.handle, 1), success);
    EXPECT_EQ(slowpath_ladder_pending(parts.handle), 100);
    EXPECT_EQ(put_word(11, parts.handle, 1), success);
    EXPECT_EQ(slowpath_ladder_pending(parts.handle), 100);
    EXPECT_EQ(slowpath_ladder_flush_12(1, parts.handle), success);
    EXPECT_EQ(slowpath_ladder_pending(parts.handle), 0);
    EXPECT_EQ(put_word(12, parts.handle, 1), success);
    EXPECT_EQ(slowpath_ladder_flush_12(1, parts.handle), success);
}

/// Each rung's burst puts every slot where its order says, through windows that come and go.
TEST(LadderState, Bursts) {
    EXPECT_TRUE(ladder_designs().size() == ladder_rung_count && ladder_rungs().size() == ladder_rung_count);
    constexpr std::uint32_t slots = 64;
    std::vector<std::uint32_t> shuffled(slots);
    for (std::uint32_t i = 0; i < slots; ++i) shuffled[i] = i * 13 % slots;
    auto origin = dense_bytes(slots * 16);
    int number = 0;
    for (const Design& design : ladder_designs()) {
        EXPECT_TRUE(design.rung == number && design.name == "ladder" &&
                    design.call == slowpath::layers::Call::library);
        EXPECT_TRUE(design.checked == (number >= 2) && design.takes_datatypes == (number >= datatype_rung));
        EXPECT_EQ(design.meaning, ladder_rungs()[static_cast<std::size_t>(number)].meaning);
        for (std::size_t order = 0; order < orders; ++order) {
            Parts parts;
            parts.clear();
            Burst burst;
            burst.window = &parts.window;
            burst.target = 1;
            burst.local = parts.peers[0].base;
            burst.origin = origin.data();
            burst.origin_type = burst.target_type = Datatype::bytes_8;
            burst.message_bytes = 8;
            burst.slot_bytes = 16;
            burst.mask = slots - 1;
            burst.shuffled = shuffled.data();
            burst.puts = 3 * slots;
            EXPECT_EQ(design.puts[order](burst), success);
            design.synchronise(burst);
            std::size_t written = 0;
            for (std::size_t slot = 0; slot < slots; ++slot) {
                const std::byte* const at = parts.peers[1].base + 16 * slot;
                if (std::memcmp(at, origin.data() + 16 * slot, 8) == 0) ++written;
                EXPECT_TRUE(at[8] == std::byte{0xee} && at[15] == std::byte{0xee});
            }
            const auto which = static_cast<Order>(order);
            EXPECT_EQ(written, (which == Order::same ? 1 : which == Order::line ? slots / 4 : slots));
            // A window that its first burst finds without an epoch.
            Window late(parts.peers, 0);
            burst.window = &late;
            if (design.checked) {
                EXPECT_EQ(design.puts[order](burst), error_epoch);
            }
            late.begin_epoch();
            EXPECT_EQ(design.puts[order](burst), success);
            burst.origin_type = Datatype::null;
            if (design.checked) {
                EXPECT_EQ(design.puts[order](burst), error_datatype);
            }
        }
        ++number;
    }
}

}  // namespace
