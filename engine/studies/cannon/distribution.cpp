// SPDX-License-Identifier: Apache-2.0
#include "cannon/distribution.hpp"

#include <unistd.h>

#include <stdexcept>

#include "mpi/session.hpp"
#include "mpi/together.hpp"

namespace slowpath::cannon {

// Inputs out of a file in which every strip is contiguous, by MPI-IO (MPI-5.0 section 14.4), and C into
// another.

class TileFiles : public Distribution {
  public:
    /// Collective; writes the strips of all ranks first.  The files have no names from here on where the file
    /// system allows it (MPI_MODE_DELETE_ON_CLOSE).
    TileFiles(Stage& stage, const Inputs& inputs, const std::string& folder);
    ~TileFiles() override;
    TileFiles(const TileFiles&) = delete;
    TileFiles& operator=(const TileFiles&) = delete;

    void bring(Placement placement, double* a, double* b) override;
    void take(const double* c) override;

  private:
    MPI_Offset strips_before(int rank) const;

    Stage& stage_;
    MPI_File inputs_ = MPI_FILE_NULL;
    MPI_File product_ = MPI_FILE_NULL;
};

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

namespace {

class InPlace : public Distribution {
  public:
    InPlace(Stage& stage, const Inputs& inputs) : stage_(stage), inputs_(inputs) {}
    void bring(Placement placement, double* a, double* b) override {
        const Layout& layout = stage_.layout;
        stage_.timeline.timed(Part::generate, 0, [&] {
            inputs_.fill_a(layout, a_class(layout, placement), a);
            inputs_.fill_b(layout, b_class(layout, placement), b);
        });
    }
    void take(const double*) override {}
    bool timed() const override { return false; }

  private:
    Stage& stage_;
    Inputs inputs_;
};

/// Rank 0 holds all strips of all ranks, one after the other, so that each message is contiguous: what a
/// careful program with central input does.  n^2 elements three times on rank 0, which is the point of the
/// comparison.
class Root : public Distribution {
  public:
    Root(Stage& stage, const Inputs& inputs) : stage_(stage), inputs_(inputs) {
        mpi::check(MPI_Comm_size(stage.communicator, &size_), "MPI_Comm_size");
        mpi::check(MPI_Comm_rank(stage.communicator, &rank_), "MPI_Comm_rank");
        if (rank_ != 0) return;
        a_ = std::make_unique<Memory>(size_ * stage.layout.a_elements());
        b_ = std::make_unique<Memory>(size_ * stage.layout.b_elements());
        c_ = std::make_unique<Memory>(size_ * stage.layout.c_elements());
    }

    void bring(Placement placement, double* a, double* b) override {
        if (rank_ == 0) stage_.timeline.timed(Part::generate, 0, [&] { make_all(placement); });
        stage_.timeline.timed(Part::distribute, 0, [&] {
            scatter(a_.get(), a, stage_.layout.a_elements());
            scatter(b_.get(), b, stage_.layout.b_elements());
        });
    }
    void take(const double* c) override {
        stage_.timeline.timed(Part::gather, 0, [&] {
            const StripType type(stage_.layout.c_elements());
            mpi::check(MPI_Gather(c, 1, type.get(), c_ ? c_->data() : nullptr, 1, type.get(), 0,
                                  stage_.communicator),
                       "MPI_Gather");
        });
    }

  private:
    void make_all(Placement placement) {
        Layout of = stage_.layout;
        for (int rank = 0; rank < size_; ++rank) {
            of.row = rank / of.columns;
            of.column = rank % of.columns;
            inputs_.fill_a(of, a_class(of, placement), a_->data() + rank * of.a_elements());
            inputs_.fill_b(of, b_class(of, placement), b_->data() + rank * of.b_elements());
        }
    }
    void scatter(const Memory* from, double* to, std::int64_t elements) {
        const StripType type(elements);
        mpi::check(MPI_Scatter(from != nullptr ? from->data() : nullptr, 1, type.get(), to, 1, type.get(), 0,
                               stage_.communicator),
                   "MPI_Scatter");
    }

    Stage& stage_;
    Inputs inputs_;
    int size_ = 1;
    int rank_ = 0;
    std::unique_ptr<Memory> a_, b_, c_;  ///< rank 0 only
};

}  // namespace

const char* name(Source source) {
    switch (source) {
        case Source::in_place:
            return "in_place";
        case Source::root:
            return "root";
        case Source::file:
            return "file";
    }
    throw std::logic_error("unnamed source");
}

int a_class(const Layout& layout, Placement placement) {
    return (layout.column + (placement == Placement::skewed ? layout.row : 0)) % layout.columns;
}

int b_class(const Layout& layout, Placement placement) {
    return (layout.row + (placement == Placement::skewed ? layout.column : 0)) % layout.rows;
}

std::unique_ptr<Distribution> make_distribution(Source source, Stage& stage, const Inputs& inputs,
                                                const std::string& folder) {
    switch (source) {
        case Source::in_place:
            return std::make_unique<InPlace>(stage, inputs);
        case Source::root:
            return std::make_unique<Root>(stage, inputs);
        case Source::file:
            return std::make_unique<TileFiles>(stage, inputs, folder);
    }
    throw std::logic_error("unknown source");
}

}  // namespace slowpath::cannon
