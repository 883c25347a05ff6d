// SPDX-License-Identifier: Apache-2.0
/// Reads a record back, and runs parts of a test as processes of their own.
#pragma once

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "watch/layout.hpp"
#include "watch/observer.hpp"

namespace record_file {

using namespace slowpath::watch;

struct Record {
    std::string bytes;

    const layout::Header& header() const { return *reinterpret_cast<const layout::Header*>(bytes.data()); }

    const layout::SectionRow* section(layout::Is kind, std::uint32_t lane = 0) const {
        const auto* rows = reinterpret_cast<const layout::SectionRow*>(bytes.data() + sizeof(layout::Header));
        for (std::uint32_t row = 0; row < header().section_count; ++row)
            if (rows[row].kind == static_cast<std::uint32_t>(kind) && rows[row].lane == lane)
                return &rows[row];
        return nullptr;
    }

    template <typename Row>
    std::vector<Row> rows(layout::Is kind, std::uint32_t lane = 0) const {
        std::vector<Row> out;
        if (const layout::SectionRow* there = section(kind, lane)) {
            out.resize(there->used);
            std::memcpy(static_cast<void*>(out.data()), bytes.data() + there->offset,
                        there->used * sizeof(Row));
        }
        return out;
    }
    std::vector<layout::Event> events() const { return rows<layout::Event>(layout::Is::events); }
    std::vector<layout::Profile> profile() const { return rows<layout::Profile>(layout::Is::profile); }
};

/// A new empty folder, which SLOWPATH_WATCH names.
inline std::string make_folder() {
    std::string name =
        std::string(std::getenv("TMPDIR") == nullptr ? "/tmp" : std::getenv("TMPDIR")) + "/watch-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    setenv("SLOWPATH_WATCH", name.c_str(), 1);
    return name;
}

/// All records of a folder; takes the folder away.
inline std::vector<Record> read_folder(const std::string& folder) {
    std::vector<Record> records;
    DIR* const open = opendir(folder.c_str());
    while (const dirent* entry = readdir(open)) {
        const std::string path = folder + "/" + entry->d_name;
        if (entry->d_name[0] == '.') continue;
        std::ifstream file(path, std::ios::binary);
        records.push_back({std::string(std::istreambuf_iterator<char>(file), {})});
        unlink(path.c_str());
    }
    closedir(open);
    rmdir(folder.c_str());
    return records;
}

/// @return The status of a process that does this, as waitpid has it.
inline int in_process(const std::function<void()>& does) {
    const pid_t child = fork();
    if (child == 0) {
        does();
        std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

/// The one record of a process.
inline Record record_of(const std::function<void()>& does) {
    const std::string folder = make_folder();
    in_process(does);
    const std::vector<Record> records = read_folder(folder);
    if (records.size() != 1) std::abort();
    return records[0];
}

/// The same, of these calls alone, between the begin and the end of the record.
inline Record recorded(const std::function<void()>& calls) {
    return record_of([&] {
        begin_record();
        calls();
        end_record();
    });
}

}  // namespace record_file
