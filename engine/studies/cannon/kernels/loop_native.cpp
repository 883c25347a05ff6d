// SPDX-License-Identifier: Apache-2.0
#define SLOWPATH_LOOP loop_native
#include "cannon/kernels/loop_body.hpp"
