// SPDX-License-Identifier: Apache-2.0
/// What can go wrong before or between measurements; main turns each into one line and an exit code.
#pragma once

#include <stdexcept>

namespace slowpath {

/// The user asked for something that cannot be meant: exit code 2.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The machine, the launcher or the file system does not allow it: exit code 4.
class EnvironmentFailure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The same on every rank at the same point, so that the job can end in good order.
class AgreedFailure : public EnvironmentFailure {
  public:
    using EnvironmentFailure::EnvironmentFailure;
};

}  // namespace slowpath
