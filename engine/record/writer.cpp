// SPDX-License-Identifier: Apache-2.0
#include "record/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"

namespace slowpath {
namespace {

std::string made_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw EnvironmentFailure("can't make the folder " + folder + ": " + error.message());
    return folder;
}

}  // namespace

AppendFile::AppendFile(std::string path)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail("open");
    struct stat status {};
    if (fstat(descriptor_, &status) == 0 && status.st_size == 0) return;
    close(descriptor_);
    throw EnvironmentFailure(path_ + " holds a record already, which is never changed; give an empty folder");
}

AppendFile::~AppendFile() {
    close(descriptor_);
}

void AppendFile::append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int reason = errno;
            // Half a line or block is of no use; if cutting it off fails too, readers know a torn tail.
            [[maybe_unused]] const int cut = ftruncate(descriptor_, size_bytes_);
            errno = reason;
            fail("write");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        if (bytes.empty()) break;
    }
    struct stat status {};
    if (fstat(descriptor_, &status) == 0) size_bytes_ = status.st_size;
}

void AppendFile::sync() {
    // EINVAL: a pipe or a special file, which has no disk to reach.
    if (fsync(descriptor_) != 0 && errno != EINVAL) fail("sync");
}

void AppendFile::fail(const char* verb) const {
    throw EnvironmentFailure("can't " + std::string(verb) + " " + path_ + ": " + std::strerror(errno));
}

RecordWriter::RecordWriter(const std::string& folder)
    : events_(made_folder(folder) + "/events.jsonl"), samples_(folder + "/samples.blk") {}

void RecordWriter::event(std::string_view name, std::int64_t t_ns, const std::string& fields) {
    JsonObject object;
    object.text("event", name).integer("t_ns", t_ns);
    const std::string line = "{" + object.fields() + (fields.empty() ? "" : ", ") + fields + "}\n";
    events_.append(std::as_bytes(std::span(line)));
}

void RecordWriter::sync() {
    events_.sync();
    samples_.sync();
}

}  // namespace slowpath
