# SPDX-License-Identifier: MIT
"""The rule "indexer" of models/config/read.hpp against every indexer of the installed transformers.

An indexer chooses the keys of sparse attention by heads of its own. Its class is given a config and one token; the q with
which it computes scores must be rotated by cordage's rule: lanes, pairs, axes and inv_freq, and all other lanes unchanged.
"""
import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
import rotary_classes as classes  # noqa: E402
from test_configs import POSITION_IDS, basis_complaints, read, rotation_complaint  # noqa: E402, F401

# Indexers that rotate nothing.
UNROTATED = ["Glm5NextTextIndexer"]
# The layer type of the rotary class from which a layer with an indexer has its cos and sin, if there are several.
LAYER_TYPES = {"Dots3NoteTextIndexer": "indexed_attention", "DeepseekV4Indexer": "compress"}
# Settings without which a config has no indexer.
FURTHER = {
    "MiniMaxM3VLTextConfig": {"layer_types": ["full_attention", "minimax_m3_sparse"], "num_hidden_layers": 2,
                              "mlp_layer_types": ["dense", "sparse"]},
    "Qwen4ExpTextConfig": {"indexer_n_heads": 128, "indexer_kv_heads": 1, "indexer_head_dim": 128, "indexer_budget": 64,
                           "indexer_compress_ratio": 1,  # so that one token is scored
                           "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25,
                                               "mrope_section": [11, 11, 10]}},
}
HEAD_DIM, HEADS = ("index_head_dim", "indexer_head_dim"), ("index_n_heads", "indexer_n_heads")


class Scored(Exception):
    """The q with which an indexer computes its scores."""


class OneHot(torch.nn.Module):
    """In place of the projection of q, and of k behind it: lane h of head h is 1."""

    def __init__(self, lanes, outputs):
        super().__init__()
        self.q, self.rest = torch.eye(lanes).flatten(), outputs - lanes * lanes

    def forward(self, x):
        return torch.cat([self.q, torch.ones(self.rest)]).expand(*x.shape[:-1], -1)


class Unchanged(torch.nn.Module):
    """In place of a norm."""
    weight = torch.zeros(1)  # whose type is asked

    def forward(self, x, *others, **more):
        return x


def indexers():
    """{name of the class: (class, its config with a head for each lane, lanes of a head)}"""
    found = {}
    for _, module in classes.modules("modeling_"):
        for indexer in classes.classes_of(module, torch.nn.Module):
            if not indexer.__name__.endswith("Indexer"):
                continue
            package = module.__name__.rsplit(".", 1)[0]
            config = next(config for _, config in classes.default_configs()
                          if type(config).__module__.startswith(package + ".")
                          and any(hasattr(config, key) for key in HEAD_DIM))
            settings = FURTHER.get(type(config).__name__, {})
            lanes = next(settings.get(key) or getattr(config, key) for key in HEAD_DIM if hasattr(config, key))
            config = type(config)(**settings | {key: lanes for key in HEADS if hasattr(config, key)})
            found[indexer.__name__] = (indexer, config, lanes)
    return found


def made(indexer, config, lanes):
    """An indexer whose q is one-hot before its rotation."""
    parameters = inspect.signature(indexer.__init__).parameters
    rotates = getattr(config, "no_rope_layers", None) or [1]
    with torch.device("meta"):  # nothing is spent on weights
        one = indexer(config, **({"layer_idx": list(rotates).index(1)} if "layer_idx" in parameters else {}))
    for name, child in one.named_children():
        if isinstance(child, torch.nn.Linear) and child.out_features >= lanes * lanes:
            setattr(one, name, OneHot(lanes, child.out_features))
        elif "norm" in name or "scaling" in name:
            setattr(one, name, Unchanged())
        elif classes.is_rotary(type(child).__name__):
            setattr(one, name, type(child)(config))
    for module in one.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.is_meta:
                setattr(module, name, torch.nn.Parameter(torch.zeros(parameter.shape, dtype=parameter.dtype)))
    return one.eval()


@torch.no_grad()
def scored_q(one, config, lanes, rotary, layer_type, ids):
    """The q of one token, [lanes out, lanes in].

    ids: [axes], its position
    """
    position_ids = torch.tensor(ids)[:, None, None] if len(ids) > 1 else torch.tensor([ids])
    hidden = torch.zeros(1, 1, config.hidden_size)
    more = {"layer_type": layer_type} if layer_type else {}
    given = {"hidden_states": hidden, "q_resid": torch.zeros(1, 1, 1), "q_residual": torch.zeros(1, 1, 1),
             "position_embeddings": rotary(hidden, position_ids, **more), "attention_mask": torch.zeros(1, 1, 1, 1),
             "position_ids": torch.tensor([ids[:1]]), "cache": None, "layer_idx": 0}
    parameters = inspect.signature(type(one).forward).parameters
    original = torch.matmul

    def matmul(a, b):
        if a.numel() == lanes * lanes and a.shape[-1] == lanes:
            raise Scored(a)
        return original(a, b)

    torch.matmul = matmul
    try:
        one(**{name: value for name, value in given.items() if name in parameters})
    except Scored as caught:
        return caught.args[0].reshape(lanes, lanes).T.double().numpy()  # heads are the lanes in
    finally:
        torch.matmul = original
    raise AssertionError(f"{type(one).__name__} computes no scores")


def complaint(rope, inv_freq, factor, matrices):
    """The first difference between the rule and what the class does with q; None if they agree."""
    lanes = matrices.shape[-1]
    begin = rope["first_lane"]
    end = begin + 2 * len(inv_freq)
    if rope["head_dim"] != (lanes if begin == 0 else lanes - begin):
        return f"head_dim {rope['head_dim']} must be that of {lanes} lanes"
    others = np.r_[0:begin, end:lanes]
    if not all((matrix[:, others] == np.eye(lanes)[:, others]).all() for matrix in matrices):
        return f"lanes {others.min()} ... {others.max()} are rotated too"
    if any(matrix[others, begin:end].any() for matrix in matrices):
        return f"lanes {begin} ... {end - 1} are not turned among themselves"
    return rotation_complaint(rope, inv_freq, factor, [matrix[begin:end, begin:end] for matrix in matrices])


def test_indexers_rotate_as_their_classes(read):  # noqa: F811
    wrong, compared = [], []
    for name, (indexer, config, lanes) in indexers().items():
        answer, = read([config.to_json_string()])
        ropes = [rope for rope in answer.get("ropes", []) if rope["layer_type"] == "indexer"]
        if name in UNROTATED:
            wrong += [f"{name} rotates nothing"] if ropes else []
            continue
        if not ropes:
            wrong.append(f"{name}: {answer.get('error', 'no rule')}")
            continue
        rope, layer_type = ropes[0], LAYER_TYPES.get(name)
        rotary_class, = (c for c in classes.rotary_classes_of(type(config)) if "Vision" not in c.__name__)
        rotary = rotary_class(config)
        axes = classes.axes_of(rotary)
        inv_freq, factor = classes.bases(rotary, 1)[layer_type or ""]
        of_basis = basis_complaints(name, rope["bases"][0], inv_freq, factor)
        tokens = [[axis[token] for axis in POSITION_IDS[:axes]] for token in range(len(POSITION_IDS[0]))]
        one = made(indexer, config, lanes)
        matrices = np.stack([scored_q(one, config, lanes, rotary, layer_type, ids) for ids in tokens])
        why = complaint(rope, inv_freq, factor, matrices)
        wrong += of_basis or ([f"{name}: {why}"] if why else [])
        compared.append(name)
    print("compared:", ", ".join(compared))
    assert not wrong, "\n".join(wrong)
    assert len(compared) >= 10
