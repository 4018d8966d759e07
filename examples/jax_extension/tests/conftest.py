# SPDX-License-Identifier: MIT
"""Two devices of one CPU, before JAX starts."""
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
