// SPDX-License-Identifier: Apache-2.0
/// Intervals of addresses that don't overlap, in order: a treap (Seidel and Aragon, Algorithmica 16, 1996) of
/// nodes out of a pool. Who calls holds the lock of the allocations.
#pragma once

#include <cstdint>

namespace slowpath::watch {

using Address = std::uintptr_t;
using Index = std::uint32_t;  ///< of a node in the pool; 0: none

/// Links of a node. The pool is an array of a type that has a member `link` of this kind, and element 0 is
/// not used.
struct Link {
    Address begin;
    Address end;
    Index left;
    Index right;
    std::uint32_t priority;
};

/// @tparam Pool Has `Link& operator[](Index)`.
template <class Pool>
class Intervals {
  public:
    constexpr explicit Intervals(Pool pool) : pool_(pool) {}

    /// The interval that holds this address; 0: none does.
    Index at(Address address) const {
        const Index found = not_behind(address);
        return found != 0 && address < pool_[found].end ? found : 0;
    }

    /// The last that begins at or before this address.
    Index not_behind(Address address) const {
        Index best = 0;
        for (Index node = root_; node != 0;)
            if (pool_[node].begin <= address) {
                best = node;
                node = pool_[node].right;
            } else {
                node = pool_[node].left;
            }
        return best;
    }

    /// The first that begins behind this address.
    Index behind(Address address) const {
        Index best = 0;
        for (Index node = root_; node != 0;)
            if (pool_[node].begin > address) {
                best = node;
                node = pool_[node].left;
            } else {
                node = pool_[node].right;
            }
        return best;
    }

    /// The first that has a byte in [begin, end).
    Index overlapping(Address begin, Address end) const {
        if (const Index found = at(begin)) return found;
        const Index found = behind(begin);
        return found != 0 && pool_[found].begin < end ? found : 0;
    }

    /// `node` overlaps none.
    void insert(Index node) {
        Link& link = pool_[node];
        link.left = link.right = 0;
        link.priority = next_priority();
        Index before = 0, after = 0;
        split(root_, link.begin, before, after);
        root_ = merge(merge(before, node), after);
    }

    void remove(Index node) {
        Index* place = &root_;
        const Address begin = pool_[node].begin;
        while (*place != node)
            place = begin < pool_[*place].begin ? &pool_[*place].left : &pool_[*place].right;
        *place = merge(pool_[node].left, pool_[node].right);
    }

  private:
    std::uint32_t next_priority() {
        // xorshift32 (Marsaglia, Journal of Statistical Software 8, 2003)
        random_ ^= random_ << 13;
        random_ ^= random_ >> 17;
        random_ ^= random_ << 5;
        return random_;
    }

    /// `before` gets what begins before `key`.
    void split(Index node, Address key, Index& before, Index& after) {
        if (node == 0) {
            before = after = 0;
        } else if (pool_[node].begin < key) {
            before = node;
            split(pool_[node].right, key, pool_[node].right, after);
        } else {
            after = node;
            split(pool_[node].left, key, before, pool_[node].left);
        }
    }

    Index merge(Index before, Index after) {
        if (before == 0) return after;
        if (after == 0) return before;
        if (pool_[before].priority > pool_[after].priority) {
            pool_[before].right = merge(pool_[before].right, after);
            return before;
        }
        pool_[after].left = merge(before, pool_[after].left);
        return after;
    }

    Pool pool_;
    Index root_ = 0;
    std::uint32_t random_ = 2463534242;
};

}  // namespace slowpath::watch
