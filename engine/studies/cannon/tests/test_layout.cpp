// SPDX-License-Identifier: Apache-2.0
// Every grid up to 16 ranks: each panel once, and where the moves of the strips bring it.
#include <numeric>
#include <set>
#include <vector>

#include "cannon/distribution.hpp"
#include "cannon/layout.hpp"
#include "tests/check.hpp"

namespace {

using namespace slowpath::cannon;

constexpr int most_ranks = 16;

std::vector<Layout> all_ranks(int ranks, bool as_ring) {
    std::vector<Layout> layouts;
    for (int rank = 0; rank < ranks; ++rank) {
        Layout layout = as_ring ? ring(0, ranks, rank) : square_as_possible(0, ranks, rank);
        layout.n = 4 * layout.steps();
        CHECK(layout.rank_at(layout.row, layout.column) == rank);
        layouts.push_back(layout);
    }
    return layouts;
}

void shapes_are_as_square_as_can_be() {
    const auto shape = [](int ranks) {
        const Layout layout = square_as_possible(12, ranks, 0);
        return std::pair{layout.rows, layout.columns};
    };
    CHECK((shape(1) == std::pair{1, 1}));
    CHECK((shape(2) == std::pair{1, 2}));
    CHECK((shape(6) == std::pair{2, 3}));
    CHECK((shape(7) == std::pair{1, 7}));
    CHECK((shape(9) == std::pair{3, 3}));
    CHECK((shape(12) == std::pair{3, 4}));
    CHECK((shape(16) == std::pair{4, 4}));
    CHECK(ring(12, 4, 3).rows == 1 && ring(12, 4, 3).columns == 4 && ring(12, 4, 3).column == 3);
}

void each_rank_meets_each_panel_once(const Layout& layout) {
    std::set<int> seen;
    for (int step = 0; step < layout.steps(); ++step) seen.insert(layout.k_of_step(step));
    CHECK(static_cast<int>(seen.size()) == layout.steps());
    CHECK(*seen.begin() == 0 && *seen.rbegin() == layout.steps() - 1);
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
            CHECK(layout.k_of_step(step) % layout.columns == a[rank]);
            CHECK(layout.k_of_step(step) % layout.rows == b[rank]);
            next_a.push_back(a[static_cast<std::size_t>(layout.right())]);
            next_b.push_back(b[static_cast<std::size_t>(layout.down())]);
        }
        a = next_a;
        b = next_b;
    }
}

void neighbours_are_each_others(const std::vector<Layout>& layouts) {
    for (std::size_t rank = 0; rank < layouts.size(); ++rank) {
        CHECK(layouts[static_cast<std::size_t>(layouts[rank].left())].right() == static_cast<int>(rank));
        CHECK(layouts[static_cast<std::size_t>(layouts[rank].up())].down() == static_cast<int>(rank));
    }
}

void owners_hold_what_they_are_asked_for(const std::vector<Layout>& layouts) {
    for (const Layout& layout : layouts)
        for (int k = 0; k < layout.steps(); ++k) {
            const Layout& a_owner = layouts[static_cast<std::size_t>(layout.a_home(k))];
            const Layout& b_owner = layouts[static_cast<std::size_t>(layout.b_home(k))];
            CHECK(a_owner.row == layout.row && a_class(a_owner, Placement::home) == k % layout.columns);
            CHECK(b_owner.column == layout.column && b_class(b_owner, Placement::home) == k % layout.rows);
        }
}

/// The panels of one class fill its strip without gap or overlap.
void panels_fill_their_strip(const Layout& layout) {
    for (int strip = 0; strip < layout.columns; ++strip) {
        std::int64_t expected = 0;
        for (int k = strip; k < layout.steps(); k += layout.columns) {
            CHECK(layout.a_offset(k) == expected);
            expected += layout.c_rows() * layout.panel();
        }
        CHECK(expected == layout.a_elements());
    }
    for (int strip = 0; strip < layout.rows; ++strip) {
        std::int64_t expected = 0;
        for (int k = strip; k < layout.steps(); k += layout.rows) {
            CHECK(layout.b_offset(k) == expected);
            expected += layout.panel() * layout.c_columns();
        }
        CHECK(expected == layout.b_elements());
    }
}

}  // namespace

int main() {
    shapes_are_as_square_as_can_be();
    for (int ranks = 1; ranks <= most_ranks; ++ranks)
        for (const bool as_ring : {false, true}) {
            const std::vector<Layout> layouts = all_ranks(ranks, as_ring);
            CHECK(layouts[0].steps() == std::lcm(layouts[0].rows, layouts[0].columns));
            CHECK(layouts[0].a_moves() == (layouts[0].columns > 1));
            CHECK(layouts[0].b_moves() == (layouts[0].rows > 1));
            for (const Layout& layout : layouts) {
                each_rank_meets_each_panel_once(layout);
                panels_fill_their_strip(layout);
            }
            moved_strips_hold_the_panel_of_the_step(layouts);
            neighbours_are_each_others(layouts);
            owners_hold_what_they_are_asked_for(layouts);
        }
    return slowpath::test::result();
}
