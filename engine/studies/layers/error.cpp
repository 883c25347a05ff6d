// SPDX-License-Identifier: Apache-2.0
#include "layers/error.hpp"

namespace slowpath::layers {

std::string_view describe(int code) {
    switch (code) {
        case success:
            return "no error";
        case error_window:
            return "the window is null or no window any more: pass one that lives";
        case error_epoch:
            return "no access epoch is open on the window: begin one before the put";
        case error_rank:
            return "the target is no rank of the window: pass 0 to ranks - 1, or proc_null";
        case error_count:
            return "a count is negative: pass 0 or more";
        case error_datatype:
            return "a datatype is null, was freed, or was never made: pass one that lives";
        case error_uncommitted:
            return "a derived datatype is not committed: commit it before the put";
        case error_size:
            return "origin and target hold different numbers of bytes: make counts and datatypes fit";
        case error_displacement:
            return "the target displacement is negative: pass 0 or more";
        case error_range:
            return "the data would leave the target's part of the window: lower displacement, count or "
                   "extent";
        case error_slots:
            return "a burst's slots are no power of two bytes apart, or no multiple of the displacement unit";
        default:
            return "not a code of the layers";
    }
}

}  // namespace slowpath::layers
