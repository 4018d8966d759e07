# SPDX-License-Identifier: MIT
"""A learned basis that differs from its prior, for additional_config: "learned_basis:table"."""
import torch

from cordage_torch import CLEX, LearnedTable


def table(config):
    basis = LearnedTable(CLEX.for_config(config, original_length=64, prior=("by_parts", 0.5, 4.0), t_max=8.0,
                                         hidden=1))
    torch.manual_seed(3)
    with torch.no_grad():
        basis.offsets.normal_(std=0.1)
    return basis


def other_size(config):
    return LearnedTable(CLEX(16, original_length=64, theta_base=1000.0, hidden=1))


def nothing(config):
    return None
