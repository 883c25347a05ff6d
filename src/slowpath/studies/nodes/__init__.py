# SPDX-License-Identifier: Apache-2.0
"""`slowpath nodes`: which node or link of an allocation is slow. `infer` is pure, `measure` starts launches."""
