# SPDX-License-Identifier: MIT
"""models/config/read.hpp against every rotary class of the installed transformers, with scaling written in every form.

The layers of each family's default config are given several types in turn, and its rope dictionary is written flat, under
its old name, by layer type, and half by layer type. The rule that cordage reads for each layer must be that of the class,
or the config be refused. A config with which the class fails is not counted.
"""
import copy
import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
import rotary_classes as classes  # noqa: E402
from test_configs import LENGTHS, basis_complaints, not_refused, read, rope_of, towers  # noqa: E402, F401

LONGEST = 16384
ORIGINAL = {"original_max_position_embeddings": 4096}
SCALINGS = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, **ORIGINAL},
    "llama3": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **ORIGINAL},
}
OF_A_TYPE = ("rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved")

# Intended differences: rotary class, form, and the reason.
DIFFER = {
    ("Olmo3RotaryEmbedding", "legacy"): "its config gives rope_theta to one layer type, and the other its default",
}


def mixed_types(saved):
    """Layer types for a config, several in turn; its own ones; or None if it has none."""
    own = saved.get("layer_types")
    if not own or "mlp" in own:
        yield None
        return
    kinds = sorted({*own, "full_attention", "sliding_attention"})
    yield [kinds[i % len(kinds)] for i in range(len(own))]
    yield [["full_attention", "sliding_attention"][i % 2] for i in range(len(own))]
    yield own


def dictionary_of(saved, layer_type):
    """The dictionary of a saved config, or of its layer type, without scaling."""
    given = saved.get("rope_parameters") or {}
    if any(isinstance(value, dict) for value in given.values()):
        dictionaries = [value for value in given.values() if isinstance(value, dict)]
        given = given.get(layer_type) or dictionaries[0]
    return {key: value for key, value in given.items() if key in OF_A_TYPE}


def forms(saved, scaling, types):
    """{name: a config.json with the scaling in another form}"""
    kinds = sorted(set(types or [])) or ["full_attention"]
    base = {key: value for key, value in saved.items() if key not in ("rope_parameters", "rope_scaling", "rope_theta")}
    for key in ("max_position_embeddings", "model_max_length"):
        if key in base:
            base[key] = LONGEST
    if types is not None:
        base["layer_types"] = types
    flat = dictionary_of(saved, kinds[0])
    theta = flat.get("rope_theta", 10000.0)
    of_type = {kind: {**dictionary_of(saved, kind), **scaling} for kind in kinds}
    for i, kind in enumerate(kinds):
        of_type[kind]["rope_theta"] = 20000.0 + 10000.0 * i
    last = kinds[-1]
    without = {kind: {key: value for key, value in of_type[kind].items() if key != "rope_theta"} for kind in kinds}
    yield "flat", {**base, "rope_parameters": {**flat, **scaling}}
    yield "legacy", {**base, "rope_theta": theta, "rope_scaling": scaling}
    yield "legacy with its base inside", {**base, "rope_scaling": {**scaling, "rope_theta": 30000.0}}
    if types is None:
        return
    yield "nested", {**base, "rope_parameters": of_type}
    yield "nested, old name", {**base, "rope_scaling": of_type}
    yield "nested, one type scaled", {**base, "rope_parameters": {
        **of_type, last: {**dictionary_of(saved, last), "rope_type": "default", "rope_theta": 50000.0}}}
    yield "nested, original length beside", {**base, "rope_parameters": {**of_type, **ORIGINAL}}
    yield "nested, scaling beside", {**base, "rope_parameters": {**without, **scaling}}
    yield "nested, base at the top", {**base, "rope_theta": 40000.0, "rope_parameters": without}
    yield "half nested", {**base, "rope_parameters": {**flat, **scaling, last: of_type[last]}}


FORMS = ["flat", "legacy", "legacy with its base inside", "nested", "nested, old name", "nested, one type scaled",
         "nested, original length beside", "nested, scaling beside", "nested, base at the top", "half nested"]


def made_by_class(config, rotary_class, text):
    """The class's config of a config.json; None if it or its rotary class fails."""
    try:
        made = type(config).from_dict(copy.deepcopy(text))
        for rotary in classes.made(rotary_class, made).values():
            classes.bases(rotary, 1)
        return made
    except Exception:
        return None


def of_layers(config, rotary_class, answer):
    """Differences between the rule of each layer and the basis of its type in the class, as texts."""
    found = []
    for suffix, rotary in classes.made(rotary_class, config).items():
        for index, length in enumerate(LENGTHS):
            for layer_type, (inv_freq, factor) in classes.bases(rotary, length).items():
                layers = [i for i, kind in enumerate(getattr(config, "layer_types", None) or []) if kind == layer_type]
                rules = {answer["layers"][i]["rule"] for i in layers if i < len(answer["layers"])}
                ropes = [answer["ropes"][rule] for rule in rules if rule is not None]
                ropes = [rope for rope in ropes if rope["rope_type"] != "none"]
                if not layers or not answer["layers"]:
                    ropes = [rope_of(layer_type, suffix, inv_freq, answer["ropes"])]
                for rope in ropes:
                    if rope is None:
                        continue
                    name = f"{layer_type or suffix} at {length}"
                    found += basis_complaints(name, rope["bases"][index], inv_freq, factor)
    return found


def test_scaling_in_every_form(read, towers):  # noqa: F811
    cases, scalings = [], list(SCALINGS.items())
    for path, config, rotary_class in not_refused(towers):
        if "." in path or "{" in path or not config.model_type or rotary_class.__name__ == "Ernie4_5_VLMoeTextRotaryEmbedding":
            continue
        saved = json.loads(config.to_json_string())
        for types in mixed_types(saved):
            for form in FORMS if types else FORMS[:3]:
                scaling_name, scaling = scalings[len(cases) % len(scalings)]  # each in turn
                text = dict(forms(saved, scaling, types))[form]
                made = made_by_class(config, rotary_class, text)
                if made is None or (rotary_class.__name__, form) in DIFFER:
                    continue
                name = f"{path}, {rotary_class.__name__}, {sorted(set(types or []))}, {scaling_name}, {form}"
                cases.append((name, made, rotary_class, json.dumps(text)))
    wrong, equal, refused = [], 0, {}
    for (name, made, rotary_class, _), answer in zip(cases, read([text for *_, text in cases], LENGTHS)):
        if "error" in answer:
            refused[answer["error"]] = name
            continue
        why = of_layers(made, rotary_class, answer)
        equal += not why
        wrong += [f"{name}: {each}" for each in why[:1]]
    print(len(cases), "configs,", equal, "equal,", len(wrong), "differ; refused for:")
    print("\n".join(f"  {why} ({name})" for why, name in refused.items()))
    assert len(cases) > 1000
    assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(wrong)


def test_types_of_layers_without_the_key(read, towers):  # noqa: F811
    """The type of each layer, by the family's code, if the config has no layer_types."""
    wrong, compared = [], 0
    for path, config, rotary_class in not_refused(towers):
        if "." in path or not config.model_type or not getattr(config, "layer_types", None):
            continue
        saved = {key: value for key, value in json.loads(config.to_json_string()).items() if key != "layer_types"}
        answer, = read([json.dumps(saved)])
        types = [layer["type"] for layer in answer.get("layers", [])]
        if not types or not any(types):  # refused, or all layers are alike
            continue
        compared += 1
        try:
            expected = type(config).from_dict(copy.deepcopy(saved)).layer_types
        except Exception:  # a saved config that its class does not accept
            continue
        if types != expected:
            wrong.append(f"{path}: {types[:12]} must be {expected[:12]}")
    print(compared, "families compared")
    assert compared > 30
    assert not wrong, "\n".join(wrong)
