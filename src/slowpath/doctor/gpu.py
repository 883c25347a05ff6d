# SPDX-License-Identifier: Apache-2.0
"""GPUs, asked from the CUDA driver itself; nothing of CUDA is linked or installed."""

from __future__ import annotations

import ctypes

from slowpath.doctor.check import Check

LIBRARY = "libcuda.so.1"


def gpus() -> Check:
    """Devices that the CUDA driver shows to this process (CUDA driver API: cuInit, cuDeviceGetCount)."""
    try:
        driver = ctypes.CDLL(LIBRARY)
    except OSError as error:
        return Check(
            "GPU",
            None,
            "missing",
            f"no CUDA driver ({error}); memory kinds pinned_host, device and managed can't be measured",
        )
    code = driver.cuInit(0)
    count = ctypes.c_int(0)
    code = code or driver.cuDeviceGetCount(ctypes.byref(count))
    if code != 0 or count.value == 0:
        why = f"its cuInit or cuDeviceGetCount returns {code}" if code else "it shows no device"
        return Check(
            "GPU",
            "none",
            "missing",
            f"a CUDA driver is here, but {why}; GPU memory can't be measured",
            "check CUDA_VISIBLE_DEVICES and the allocation",
        )
    names = ", ".join(_name(driver, index) for index in range(count.value))
    return Check("GPU", f"{count.value}: {names}", "ok", "whether the MPI accepts device memory shows only in a run")


def _name(driver: ctypes.CDLL, index: int) -> str:
    device = ctypes.c_int(0)
    text = ctypes.create_string_buffer(256)
    if driver.cuDeviceGet(ctypes.byref(device), index) or driver.cuDeviceGetName(text, len(text), device):
        return "unnamed"
    return text.value.decode("utf-8", "replace")
