// SPDX-License-Identifier: Apache-2.0
#include "cannon/distribution_file.hpp"

#include <unistd.h>

#include "cannon/strips.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon {
namespace {

constexpr auto element_bytes = static_cast<MPI_Offset>(sizeof(double));

MPI_File open_file(MPI_Comm communicator, const std::string& path) {
    MPI_File file = MPI_FILE_NULL;
    mpi::check(
        MPI_File_open(communicator, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file),
        "MPI_File_open");
    return file;
}

}  // namespace

TileFiles::TileFiles(Stage& stage, const Inputs& inputs, const std::string& folder) : stage_(stage) {
    // One name for all ranks: the process of rank 0 is alive as long as the file is.
    const std::string base =
        mpi::text_of_root(stage.communicator, folder + "/slowpath-cannon-" + std::to_string(getpid()));
    inputs_ = open_file(stage.communicator, base + ".inputs");
    product_ = open_file(stage.communicator, base + ".product");
    const Layout& layout = stage.layout;
    const Memory a(layout.a_elements()), b(layout.b_elements());
    inputs.fill_a(layout, layout.column, a.data());
    inputs.fill_b(layout, layout.row, b.data());
    const StripType a_type(layout.a_elements()), b_type(layout.b_elements());
    const MPI_Offset at = strips_before(layout.rank_at(layout.row, layout.column)) * element_bytes;
    mpi::check(MPI_File_write_at(inputs_, at, a.data(), 1, a_type.get(), MPI_STATUS_IGNORE),
               "MPI_File_write_at");
    mpi::check(MPI_File_write_at(inputs_, at + layout.a_elements() * element_bytes, b.data(), 1, b_type.get(),
                                 MPI_STATUS_IGNORE),
               "MPI_File_write_at");
    mpi::check(MPI_File_sync(inputs_), "MPI_File_sync");
    mpi::check(MPI_Barrier(stage.communicator), "MPI_Barrier");
}

TileFiles::~TileFiles() {
    MPI_File_close(&inputs_);
    MPI_File_close(&product_);
}

MPI_Offset TileFiles::strips_before(int rank) const {
    return static_cast<MPI_Offset>(rank) * (stage_.layout.a_elements() + stage_.layout.b_elements());
}

void TileFiles::bring(Placement placement, double* a, double* b) {
    const Layout& layout = stage_.layout;
    stage_.timeline.timed(Part::distribute, 0, [&] {
        const StripType a_type(layout.a_elements()), b_type(layout.b_elements());
        const int a_owner = layout.rank_at(layout.row, a_class(layout, placement));
        const int b_owner = layout.rank_at(b_class(layout, placement), layout.column);
        mpi::check(MPI_File_read_at(inputs_, strips_before(a_owner) * element_bytes, a, 1, a_type.get(),
                                    MPI_STATUS_IGNORE),
                   "MPI_File_read_at");
        mpi::check(MPI_File_read_at(inputs_, (strips_before(b_owner) + layout.a_elements()) * element_bytes,
                                    b, 1, b_type.get(), MPI_STATUS_IGNORE),
                   "MPI_File_read_at");
    });
}

void TileFiles::take(const double* c) {
    const Layout& layout = stage_.layout;
    stage_.timeline.timed(Part::gather, 0, [&] {
        const StripType type(layout.c_elements());
        const MPI_Offset at = static_cast<MPI_Offset>(layout.rank_at(layout.row, layout.column)) *
                              layout.c_elements() * element_bytes;
        mpi::check(MPI_File_write_at(product_, at, c, 1, type.get(), MPI_STATUS_IGNORE), "MPI_File_write_at");
    });
}

}  // namespace slowpath::cannon
