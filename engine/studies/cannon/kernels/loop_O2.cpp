// SPDX-License-Identifier: Apache-2.0
#define SLOWPATH_LOOP loop_O2
#include "cannon/kernels/loop_body.hpp"
