# SPDX-License-Identifier: MIT
"""Registers the operators: those compiled for this machine or, from a wheel for any x86-64, those of the instruction set
that torch selects; the environment variable ATEN_CPU_CAPABILITY (avx512, avx2, default) overrides it."""
import importlib
import importlib.util

import torch

_KERNELS = {"AVX512": "_C_avx512", "AVX2": "_C_avx2"}

module = "_C"
if importlib.util.find_spec("._C", __package__) is None:
    module = _KERNELS.get(torch.backends.cpu.get_cpu_capability(), "_C_baseline")
importlib.import_module(f".{module}", __package__)
