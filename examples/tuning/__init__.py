# SPDX-License-Identifier: MIT
"""Parts of tune_basis.py: windows of text, starts, what is measured, the report."""
