// SPDX-License-Identifier: Apache-2.0
/// The command line of halo.cpp, and nothing of MPI.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <tuple>

struct Options {
    int rows = 256, columns = 256;       // of a rank's tile
    int ranks_down = 0, ranks_over = 0;  // 0: as MPI_Dims_create likes
    int iterations = 50;
    int work = 1;  // sweeps of the stencil between two exchanges
    bool huge_pages = true;
    bool small_blocks = false;  // east and west straight from the grid, in blocks of 8 bytes
    enum class Window { none, once, each } window = Window::none;
    int late_rank = -1;
    double late_s = 0;
    int notes = 0;          // small messages to the next rank in each iteration
    bool is_flood = false;  // their receives are posted too late
    int note_bytes = 1024;
    bool odd = false;    // allocations of no whole number of pages
    bool fresh = false;  // new buffers for each exchange
};

inline std::pair<int, int> two_numbers(const std::string& text, char between, const std::string& name) {
    const auto at = text.find(between);
    if (at == std::string::npos) throw std::invalid_argument(name + " takes A" + between + "B, not " + text);
    return {std::atoi(text.c_str()), std::atoi(text.c_str() + at + 1)};
}

inline Options::Window window_of(const std::string& text) {
    if (text == "none") return Options::Window::none;
    if (text == "once") return Options::Window::once;
    if (text == "each") return Options::Window::each;
    throw std::invalid_argument("--window takes none, once or each, not " + text);
}

/// One option with its value; false: there is no such option.
inline bool set(Options& to, const std::string& name, const std::string& value) {
    const auto either = [&](const char* yes, const char* no) {
        if (value != yes && value != no)
            throw std::invalid_argument(name + " takes " + yes + " or " + no + ", not " + value);
        return value == yes;
    };
    if (name == "--size")
        std::tie(to.rows, to.columns) = two_numbers(value, 'x', name);
    else if (name == "--grid")
        std::tie(to.ranks_down, to.ranks_over) = two_numbers(value, 'x', name);
    else if (name == "--iterations")
        to.iterations = std::atoi(value.c_str());
    else if (name == "--work")
        to.work = std::atoi(value.c_str());
    else if (name == "--pages")
        to.huge_pages = either("huge", "small");
    else if (name == "--blocks")
        to.small_blocks = either("8", "packed");
    else if (name == "--window")
        to.window = window_of(value);
    else if (name == "--notes" || name == "--flood")
        to.notes = std::atoi(value.c_str()), to.is_flood = name == "--flood";
    else if (name == "--note-bytes")
        to.note_bytes = std::atoi(value.c_str());
    else if (name == "--late") {
        to.late_rank = std::atoi(value.c_str());
        const auto at = value.find(':');
        if (at == std::string::npos) throw std::invalid_argument("--late takes RANK:SECONDS, not " + value);
        to.late_s = std::atof(value.c_str() + at + 1);
    } else
        return false;
    return true;
}

/// Throws std::invalid_argument with one line for the user.
inline Options parse(int count, char** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string name = words[i];
        if (name == "--odd")
            options.odd = true;
        else if (name == "--fresh")
            options.fresh = true;
        else if (name == "--pinned")
            throw std::invalid_argument("--pinned needs CuPy: use halo.py");
        else if (i + 1 == count)
            throw std::invalid_argument(name + ": no such option, or no value; see README.md");
        else if (!set(options, name, words[++i]))
            throw std::invalid_argument(name + ": no such option; see README.md");
    }
    if (options.rows < 1 || options.columns < 1 || options.iterations < 1 || options.work < 1 ||
        options.notes < 0 || options.note_bytes < 8)
        throw std::invalid_argument(
            "rows, columns, iterations and work are at least 1, notes 0, their bytes 8");
    return options;
}
