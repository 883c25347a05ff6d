// SPDX-License-Identifier: Apache-2.0
/// What the record says of processors and memory.
#include <errno.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "watch/observe.hpp"
#include "watch/resources.hpp"
#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using record_file::Record;
using record_file::record_of;

namespace {

std::string text_of(const Record& record) {
    const auto rows = record.rows<layout::Text>(layout::Is::text);
    return {reinterpret_cast<const char*>(rows.data()), rows.size()};
}

}  // namespace

TEST(Resources, AreThoseAtTheBeginAndAtTheEnd) {
    const std::string text = text_of(record_of([] {
        setenv("PMI_RANK", "3", 1);
        begin_record();
        fake_mpi::call(calls::MPI_Barrier, {fake_mpi::comm_world});
        end_record();
    }));
    for (const char* const line : {"at\tbegin ns=", "at\tend ns=", "launch\tPMI_RANK=3"})
        EXPECT_NE(text.find(line), std::string::npos) << line;
    for (const char* const word :
         {" threads=1", " processors=", " waited_ns=", " used_ns=", " involuntary_switches=",
          " resident_bytes=", " online=", " user_namespace=", " seccomp="})
        EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(Resources, LeaveErrnoAsItIs) {
    const Record record = record_of([] {
        begin_record();
        errno = EXDEV;
        note_resources("end");
        if (errno == EXDEV) end_record();
        std::_Exit(0);
    });
    EXPECT_EQ(record.header().state, layout::finalized);
}
