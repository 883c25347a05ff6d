// SPDX-License-Identifier: Apache-2.0
/// Datatypes made from a shape: MPI's, and the layers'.
#pragma once

#include <mpi.h>

#include "put/shape.hpp"

namespace slowpath::put {

/// Committed; freed at the end.
class MpiType {
  public:
    /// @throws mpi::Error.
    explicit MpiType(const Shape& shape);
    ~MpiType();
    MpiType(const MpiType&) = delete;
    MpiType& operator=(const MpiType&) = delete;
    MPI_Datatype handle() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    bool derived_ = false;
};

class LayerType {
  public:
    explicit LayerType(const Shape& shape);
    ~LayerType();
    LayerType(const LayerType&) = delete;
    LayerType& operator=(const LayerType&) = delete;
    layers::Datatype handle() const { return type_; }

  private:
    layers::Datatype type_ = layers::Datatype::null;
    bool derived_ = false;
};

}  // namespace slowpath::put
