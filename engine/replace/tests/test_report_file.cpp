// SPDX-License-Identifier: Apache-2.0
/// Two programs write one report, as a program and those that it spawned do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "replace/report_file.hpp"

namespace {

using slowpath::replace::write_report;

class ReportFile : public testing::Test {
  protected:
    void SetUp() override {
        char made[] = "/tmp/slowpath-report-XXXXXX";
        ASSERT_NE(mkdtemp(made), nullptr);
        folder_ = made;
    }
    void TearDown() override {
        unlink(path().c_str());
        rmdir(folder_.c_str());
    }
    std::string path() const { return folder_ + "/report.json"; }
    std::string content() const {
        std::ifstream file(path());
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    std::string folder_;
};

template <class Does>
pid_t in_child(const Does& does) {
    const pid_t child = fork();
    if (child == 0) _exit(does() ? 0 : 1);
    return child;
}

bool ended_well(pid_t child) {
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(ReportFile, WaitsForAProgramThatIsWriting) {
    const int other = open(path().c_str(), O_WRONLY | O_CREAT, 0666);
    ASSERT_EQ(flock(other, LOCK_EX), 0);
    ASSERT_EQ(write(other, "the half of", 11), 11);
    const pid_t child = in_child([&] {
        close(other);  // a copy of it would keep the lock
        return write_report(path().c_str(), "{}\n");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "it did not wait";
    EXPECT_EQ(content(), "the half of");
    ASSERT_EQ(write(other, " a long one\n", 12), 12);
    close(other);
    EXPECT_TRUE(ended_well(child));
    EXPECT_EQ(content(), "{}\n");
}

TEST_F(ReportFile, DoesNotWaitForEver) {
    const int other = open(path().c_str(), O_WRONLY | O_CREAT, 0666);
    ASSERT_EQ(flock(other, LOCK_EX), 0);
    ASSERT_EQ(write(other, "theirs", 6), 6);
    EXPECT_FALSE(write_report(path().c_str(), "{}\n"));
    EXPECT_EQ(errno, EWOULDBLOCK);
    EXPECT_EQ(content(), "theirs");
    close(other);
}

TEST_F(ReportFile, IsOneOfTwoThatAreWrittenAtTheSameTime) {
    const std::string texts[] = {std::string(300'000, 'a'), std::string(70'000, 'b')};
    for (int turn = 0; turn < 100; ++turn) {
        const pid_t children[] = {in_child([&] { return write_report(path().c_str(), texts[0]); }),
                                  in_child([&] { return write_report(path().c_str(), texts[1]); })};
        EXPECT_TRUE(ended_well(children[0]));
        EXPECT_TRUE(ended_well(children[1]));
        const std::string found = content();
        ASSERT_TRUE(found == texts[0] || found == texts[1]) << "turn " << turn << ": " << found.size();
    }
}

TEST_F(ReportFile, AFifoWithoutAReaderIsAnErrorAndNoWait) {
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    EXPECT_FALSE(write_report(path().c_str(), "{}\n"));
    EXPECT_EQ(errno, ENXIO);
    const int reader = open(path().c_str(), O_RDONLY | O_NONBLOCK);
    EXPECT_TRUE(write_report(path().c_str(), "{}\n"));
    char got[8] = "";
    EXPECT_EQ(read(reader, got, sizeof got), 3);
    close(reader);
}

}  // namespace
