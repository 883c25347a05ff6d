# SPDX-License-Identifier: Apache-2.0
"""GPUs, asked from the CUDA driver itself; nothing of CUDA is linked or installed."""

from __future__ import annotations

import ctypes
import os

from slowpath.doctor.check import Check

LIBRARY = "libcuda.so.1"
VARIABLE = "SLOWPATH_CUDA_DRIVER"  # the engine's, too


def gpus() -> Check:
    """Devices that the CUDA driver shows to this process."""
    count, why = gpu_count()
    if count:
        names = ", ".join(_name(_driver(), index) for index in range(count))
        means = '"MPI and GPU memory" shows which MPI supports them'
        return Check("GPU", f"{count}: {names}", "ok", means)
    means = f"{why}; pinned and GPU memory can't be measured"
    do = "check CUDA_VISIBLE_DEVICES and the allocation" if _has_driver() else None
    return Check("GPU", None if do is None else "none", "missing", means, do)


def gpu_count() -> tuple[int, str | None]:
    """Number of devices (CUDA driver API: cuInit, cuDeviceGetCount) and, where it is 0, why."""
    try:
        driver = _driver()
    except OSError as error:
        return 0, f"no CUDA driver ({error})"
    count = ctypes.c_int(0)
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if code != 0:
        return 0, f"a CUDA driver is installed, but its cuInit or cuDeviceGetCount returns {code}"
    return count.value, None if count.value else "a CUDA driver is installed, but it shows no device"


def _has_driver() -> bool:
    try:
        _driver()
    except OSError:
        return False
    return True


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(os.environ.get(VARIABLE) or LIBRARY)


def _name(driver: ctypes.CDLL, index: int) -> str:
    device = ctypes.c_int(0)
    text = ctypes.create_string_buffer(256)
    if driver.cuDeviceGet(ctypes.byref(device), index) or not hasattr(driver, "cuDeviceGetName"):
        return "unnamed"
    if driver.cuDeviceGetName(text, len(text), device):
        return "unnamed"
    return text.value.decode("utf-8", "replace")
