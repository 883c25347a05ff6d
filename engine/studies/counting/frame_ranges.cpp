// SPDX-License-Identifier: Apache-2.0
#include "counting/frame_ranges.hpp"

#include <cstring>
#include <optional>
#include <string_view>

namespace slowpath::counting {
namespace {

// Pointer encodings, DW_EH_PE_* of the Linux Standard Base.
constexpr std::uint8_t encoding_absolute = 0x00;
constexpr std::uint8_t encoding_relative = 0x10;

/// Reads forward; everything after the end is missing, nothing is read beyond it.
class Reader {
  public:
    Reader(std::span<const std::uint8_t> bytes, std::size_t at) : bytes_(bytes), at_(at) {}

    std::size_t at() const { return at_; }

    template <class T>
    std::optional<T> number() {
        if (bytes_.size() < sizeof(T) || at_ > bytes_.size() - sizeof(T)) return std::nullopt;
        T value;
        std::memcpy(&value, bytes_.data() + at_, sizeof(T));
        at_ += sizeof(T);
        return value;
    }

    bool skip_leb128() {
        for (;;) {
            const auto byte = number<std::uint8_t>();
            if (!byte) return false;
            if ((*byte & 0x80) == 0) return true;
        }
    }

    std::string_view text() {
        const std::size_t begin = at_;
        while (at_ < bytes_.size() && bytes_[at_] != 0) ++at_;
        const auto* const data = reinterpret_cast<const char*>(bytes_.data());
        const std::string_view found(data + begin, at_ - begin);
        if (at_ < bytes_.size()) ++at_;
        return found;
    }

    /// A pointer's value without what it is relative to.
    std::optional<std::uint64_t> encoded(std::uint8_t format) {
        switch (format) {
            case 0x00:
            case 0x04:
            case 0x0c:
                return number<std::uint64_t>();
            case 0x03:
                return number<std::uint32_t>();
            case 0x0b:
                if (const auto value = number<std::int32_t>())
                    return static_cast<std::uint64_t>(std::int64_t{*value});
                return std::nullopt;
            default:
                return std::nullopt;
        }
    }

  private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_;
};

std::size_t bytes_of(std::uint8_t format) {
    return format == 0x03 || format == 0x0b ? 4 : 8;
}

/// How a common information entry has its frame descriptions encode pointers; nullopt: not understood.
std::optional<std::uint8_t> pointer_encoding(std::span<const std::uint8_t> section, std::size_t entry) {
    Reader reader(section, entry);
    const auto version = reader.number<std::uint8_t>();
    const std::string_view augmentation = reader.text();
    if (!version || augmentation.empty()) return encoding_absolute;
    if (augmentation[0] != 'z') return std::nullopt;
    if (!reader.skip_leb128() || !reader.skip_leb128() || !reader.skip_leb128()) return std::nullopt;
    if (!reader.skip_leb128()) return std::nullopt;  // length of the augmentation's data
    for (const char letter : augmentation.substr(1)) {
        if (letter == 'R') return reader.number<std::uint8_t>();
        if (letter == 'L') {
            if (!reader.number<std::uint8_t>()) return std::nullopt;
        } else if (letter == 'P') {
            const auto encoding = reader.number<std::uint8_t>();
            if (!encoding || !reader.encoded(*encoding & 0x0f)) return std::nullopt;
        } else if (letter != 'S' && letter != 'B') {
            return std::nullopt;
        }
    }
    return encoding_absolute;
}

std::optional<Range> described(std::span<const std::uint8_t> section, std::size_t at, std::uint8_t encoding,
                               std::uint64_t address) {
    const std::uint8_t format = encoding & 0x0f;
    const std::uint8_t base = encoding & 0x70;
    if (base != encoding_absolute && base != encoding_relative) return std::nullopt;
    Reader reader(section, at);
    auto begin = reader.encoded(format);
    // The length has the pointer's size, and is never relative.
    const auto length = reader.encoded(bytes_of(format) == 4 ? 0x03 : 0x04);
    if (!begin || !length || *length == 0) return std::nullopt;
    if (base == encoding_relative) *begin += address + at;
    return Range{*begin, *begin + *length};
}

}  // namespace

std::vector<Range> frame_ranges(std::span<const std::uint8_t> section, std::uint64_t address) {
    std::vector<Range> ranges;
    for (std::size_t at = 0; at < section.size();) {
        Reader reader(section, at);
        std::uint64_t length = reader.number<std::uint32_t>().value_or(0);
        if (length == 0xffffffff) length = reader.number<std::uint64_t>().value_or(0);
        const std::size_t body = reader.at();
        if (length < 4 || length > section.size() - body) break;  // a length of 0 ends the section
        const std::uint32_t back = reader.number<std::uint32_t>().value_or(0);
        // Counted back from itself to the length field of the entry it belongs to; 0 marks such an entry.
        if (back != 0 && back <= body) {
            const std::size_t common = body - back;
            Reader head(section, common);
            if (head.number<std::uint32_t>() == 0xffffffff) head.number<std::uint64_t>();
            head.number<std::uint32_t>();
            const auto encoding = pointer_encoding(section, head.at());
            if (encoding)
                if (const auto range = described(section, reader.at(), *encoding, address))
                    ranges.push_back(*range);
        }
        at = body + length;
    }
    return ranges;
}

}  // namespace slowpath::counting
