# SPDX-License-Identifier: Apache-2.0
"""What else would look like the cause that a rule claims, and the experiment that tells it apart."""
