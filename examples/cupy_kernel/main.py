# SPDX-License-Identifier: MIT
"""Rotates heads on a device by rotate_heads.cu, a kernel that calls cordage's formulas and that CuPy compiles. Wants cupy,
the Python package cordage, a device, and in the working folder rotate_heads.cu and cordage_kernels.hpp."""
# [main]
import pathlib

import cordage
import cupy
import numpy as np

code = "".join(pathlib.Path(name).read_text() for name in ("cordage_kernels.hpp", "rotate_heads.cu"))
rotate_heads = cupy.RawModule(code=code, options=("-std=c++20",)).get_function("rotate_heads")

tokens, heads, head_dim = 512, 32, 128
basis = cordage.Rule.from_numbers(head_dim=head_dim, original_length=4096, policy="yarn").at_length(131072)
position_ids = cupy.arange(100_000, 100_000 + tokens, dtype=cupy.int64)
x = cupy.ones((tokens, heads, head_dim), cupy.float16)
rotate_heads((tokens,), (head_dim // 2,), (cupy.asarray(basis.inv_freq), np.float32(basis.attention_factor),
                                           position_ids, x, np.int32(heads)))
print(x[0, 0, :4])
# [/main]
