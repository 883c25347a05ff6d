# SPDX-License-Identifier: Apache-2.0
"""`slowpath prove`: reruns of a watched program as it is and under one remedy, until it is decided."""
