// SPDX-License-Identifier: Apache-2.0
/// A hash table on mapped memory of its own: no malloc, which may be the program's, and a bound on its
/// length.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace slowpath::watch {

/// Neighbouring handles fall far apart.
inline std::uint64_t scatter(std::uint64_t key) {
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15;
    return key ^ key >> 29;
}

template <typename Row>
Row* map_rows(std::size_t count) {
    void* memory = mmap(nullptr, count * sizeof(Row), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Row*>(memory);
}

template <typename Row>
void unmap_rows(Row* rows, std::size_t count) {
    if (rows != nullptr) munmap(static_cast<void*>(rows), count * sizeof(Row));
}

/// Entry has a std::uint64_t `key`, 0 where there is none. Serialised by the caller.
template <typename Entry, std::size_t first_capacity, std::size_t most_capacity>
class Table {
    static_assert(std::is_trivially_copyable_v<Entry>);

  public:
    std::size_t size() const { return size_; }

    Entry* find(std::uint64_t key) {
        if (entries_ == nullptr) return nullptr;
        for (std::size_t at = scatter(key) & mask_; entries_[at].key != 0; at = (at + 1) & mask_)
            if (entries_[at].key == key) return &entries_[at];
        return nullptr;
    }

    /// An entry of this key: the one there is, or a new one, zero but for its key; nullptr: full.
    Entry* put(std::uint64_t key) {
        if (Entry* there = find(key)) return there;
        Entry* const fresh = claim(key);
        if (fresh == nullptr) return nullptr;
        *fresh = Entry{};
        fresh->key = key;
        return fresh;
    }

    /// A new entry of a key that has none, for the caller to fill; nullptr: full.
    Entry* claim(std::uint64_t key) {
        if ((size_ + 1) * 2 > capacity() && !grow()) return nullptr;
        std::size_t at = scatter(key) & mask_;
        while (entries_[at].key != 0) at = (at + 1) & mask_;
        entries_[at].key = key;
        ++size_;
        return &entries_[at];
    }

    /// Entries may move.
    void erase(Entry* entry) {
        auto hole = static_cast<std::size_t>(entry - entries_);
        for (std::size_t at = (hole + 1) & mask_; entries_[at].key != 0; at = (at + 1) & mask_) {
            const std::size_t home = scatter(entries_[at].key) & mask_;
            if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
            entries_[hole] = entries_[at];
            hole = at;
        }
        entries_[hole].key = 0;
        --size_;
    }

    void clear() {
        unmap_rows(entries_, capacity());
        entries_ = nullptr;
        mask_ = size_ = 0;
    }

    /// Another one where entries have moved, but for clear().
    std::size_t capacity() const { return entries_ == nullptr ? 0 : mask_ + 1; }

  private:
    bool grow() {
        const std::size_t old_capacity = capacity();
        const std::size_t new_capacity = old_capacity == 0 ? first_capacity : old_capacity * 2;
        if (new_capacity > most_capacity) return false;
        Entry* const larger = map_rows<Entry>(new_capacity);
        if (larger == nullptr) return false;
        for (std::size_t old = 0; old < old_capacity; ++old) {
            if (entries_[old].key == 0) continue;
            std::size_t at = scatter(entries_[old].key) & (new_capacity - 1);
            while (larger[at].key != 0) at = (at + 1) & (new_capacity - 1);
            larger[at] = entries_[old];
        }
        unmap_rows(entries_, old_capacity);
        entries_ = larger;
        mask_ = new_capacity - 1;
        return true;
    }

    Entry* entries_ = nullptr;
    std::size_t mask_ = 0;
    std::size_t size_ = 0;
};

}  // namespace slowpath::watch
