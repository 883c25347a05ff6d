// SPDX-License-Identifier: Apache-2.0
/// Inputs out of a file in which every strip is contiguous, by MPI-IO (MPI-5.0 section 14.4), and C into
/// another.
#pragma once

#include "cannon/distribution.hpp"

namespace slowpath::cannon {

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

}  // namespace slowpath::cannon
