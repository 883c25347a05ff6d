// SPDX-License-Identifier: Apache-2.0
// Every grid up to 16 ranks: each panel once, and where the moves of the strips bring it.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "cannon/distribution.hpp"

namespace {

using namespace slowpath::cannon;

constexpr int most_ranks = 16;

std::vector<Layout> all_ranks(int ranks, bool as_ring) {
    std::vector<Layout> layouts;
    for (int rank = 0; rank < ranks; ++rank) {
        Layout layout = as_ring ? ring(0, ranks, rank) : square_as_possible(0, ranks, rank);
        layout.n = 4 * layout.steps();
        EXPECT_EQ(layout.rank_at(layout.row, layout.column), rank);
        layouts.push_back(layout);
    }
    return layouts;
}

TEST(CannonLayout, ShapesAreAsSquareAsCanBe) {
    const auto shape = [](int ranks) {
        const Layout layout = square_as_possible(12, ranks, 0);
        return std::pair{layout.rows, layout.columns};
    };
    EXPECT_EQ(shape(1), (std::pair{1, 1}));
    EXPECT_EQ(shape(2), (std::pair{1, 2}));
    EXPECT_EQ(shape(6), (std::pair{2, 3}));
    EXPECT_EQ(shape(7), (std::pair{1, 7}));
    EXPECT_EQ(shape(9), (std::pair{3, 3}));
    EXPECT_EQ(shape(12), (std::pair{3, 4}));
    EXPECT_EQ(shape(16), (std::pair{4, 4}));
    EXPECT_TRUE(ring(12, 4, 3).rows == 1 && ring(12, 4, 3).columns == 4 && ring(12, 4, 3).column == 3);
}

void each_rank_meets_each_panel_once(const Layout& layout) {
    std::set<int> seen;
    for (int step = 0; step < layout.steps(); ++step) seen.insert(layout.k_of_step(step));
    EXPECT_EQ(static_cast<int>(seen.size()), layout.steps());
    EXPECT_TRUE(*seen.begin() == 0 && *seen.rbegin() == layout.steps() - 1);
}

/// Strips start skewed, and every step moves those of A to the left and those of B up.
void moved_strips_hold_the_panel_of_the_step(const std::vector<Layout>& layouts) {
    std::vector<int> a, b;
    for (const Layout& layout : layouts) {
        a.push_back(a_class(layout, Placement::skewed));
        b.push_back(b_class(layout, Placement::skewed));
    }
    for (int step = 0; step < layouts[0].steps(); ++step) {
        std::vector<int> next_a, next_b;
        for (std::size_t rank = 0; rank < layouts.size(); ++rank) {
            const Layout& layout = layouts[rank];
            EXPECT_EQ(layout.k_of_step(step) % layout.columns, a[rank]);
            EXPECT_EQ(layout.k_of_step(step) % layout.rows, b[rank]);
            next_a.push_back(a[static_cast<std::size_t>(layout.right())]);
            next_b.push_back(b[static_cast<std::size_t>(layout.down())]);
        }
        a = next_a;
        b = next_b;
    }
}

void neighbours_are_each_others(const std::vector<Layout>& layouts) {
    for (std::size_t rank = 0; rank < layouts.size(); ++rank) {
        EXPECT_EQ(layouts[static_cast<std::size_t>(layouts[rank].left())].right(), static_cast<int>(rank));
        EXPECT_EQ(layouts[static_cast<std::size_t>(layouts[rank].up())].down(), static_cast<int>(rank));
    }
}

void owners_hold_what_they_are_asked_for(const std::vector<Layout>& layouts) {
    for (const Layout& layout : layouts)
        for (int k = 0; k < layout.steps(); ++k) {
            const Layout& a_owner = layouts[static_cast<std::size_t>(layout.a_home(k))];
            const Layout& b_owner = layouts[static_cast<std::size_t>(layout.b_home(k))];
            EXPECT_TRUE(a_owner.row == layout.row && a_class(a_owner, Placement::home) == k % layout.columns);
            EXPECT_TRUE(b_owner.column == layout.column &&
                        b_class(b_owner, Placement::home) == k % layout.rows);
        }
}

/// The panels of one class fill its strip without gap or overlap.
void panels_fill_their_strip(const Layout& layout) {
    for (int strip = 0; strip < layout.columns; ++strip) {
        std::int64_t expected = 0;
        for (int k = strip; k < layout.steps(); k += layout.columns) {
            EXPECT_EQ(layout.a_offset(k), expected);
            expected += layout.c_rows() * layout.panel();
        }
        EXPECT_EQ(expected, layout.a_elements());
    }
    for (int strip = 0; strip < layout.rows; ++strip) {
        std::int64_t expected = 0;
        for (int k = strip; k < layout.steps(); k += layout.rows) {
            EXPECT_EQ(layout.b_offset(k), expected);
            expected += layout.panel() * layout.c_columns();
        }
        EXPECT_EQ(expected, layout.b_elements());
    }
}

TEST(CannonLayout, EveryGridHoldsTogether) {
    for (int ranks = 1; ranks <= most_ranks; ++ranks)
        for (const bool as_ring : {false, true}) {
            const std::vector<Layout> layouts = all_ranks(ranks, as_ring);
            EXPECT_EQ(layouts[0].steps(), std::lcm(layouts[0].rows, layouts[0].columns));
            EXPECT_EQ(layouts[0].a_moves(), (layouts[0].columns > 1));
            EXPECT_EQ(layouts[0].b_moves(), (layouts[0].rows > 1));
            for (const Layout& layout : layouts) {
                each_rank_meets_each_panel_once(layout);
                panels_fill_their_strip(layout);
            }
            moved_strips_hold_the_panel_of_the_step(layouts);
            neighbours_are_each_others(layouts);
            owners_hold_what_they_are_asked_for(layouts);
        }
}

}  // namespace
