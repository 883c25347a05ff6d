// SPDX-License-Identifier: Apache-2.0
#define SLOWPATH_LOOP loop_O0
#include "cannon/kernels/loop_body.hpp"
