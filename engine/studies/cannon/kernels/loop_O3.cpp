// SPDX-License-Identifier: Apache-2.0
#define SLOWPATH_LOOP loop_O3
#include "cannon/kernels/loop_body.hpp"
