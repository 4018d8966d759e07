# SPDX-License-Identifier: MIT
"""tests/golden/released_configs.json, which cordage_conformance checks, agrees with the classes of the installed transformers."""
import copy
import logging

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import golden_file  # noqa: E402
import rotary_classes as classes  # noqa: E402
from test_configs import basis_complaints, rope_of  # noqa: E402

transformers.logging.set_verbosity(logging.CRITICAL)

# Configs that transformers reads otherwise, and why the golden numbers are others.
OTHERWISE = {
    "07_attn_factor": "an error is right too",
    "08_apply_yarn_scaling": "a key of vLLM",
    "19_latent_attention_switched_off": "DeepSeek's own code; transformers does not read use_mla",
    "ernie45vl": "its class keeps the frequencies in another order",
}


def config_of(released):
    """transformers' config of the language model; None if it does not know the model type."""
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    for part in (released, *(value for value in released.values() if isinstance(value, dict))):
        if part.get("model_type") in known:
            return known[part["model_type"]].from_dict(copy.deepcopy(part)).get_text_config(decoder=True)
    return None


def test_golden_rules_are_those_of_the_classes():
    compared, failing, wrong = [], [], []
    for name, case in golden_file.stored_cases("released_configs.json").items():
        if case["kind"] != "released_config" or "rules" not in case or name in OTHERWISE:
            continue
        try:
            config = config_of(case["config"])
            modules = [rotary for rotary_class in classes.rotary_classes_of(type(config)) if "Vision" not in rotary_class.__name__
                       for rotary in classes.made(rotary_class, config).values()]
            bases = [classes.bases(rotary, case.get("length", 1)) for rotary in modules]
        except Exception as why:  # a released form that this version does not read
            failing.append(f"{name}: {why!r}")
            continue
        ropes = [{"rope_type": "none" if rule.get("rotates") is False else "", "layer_type": rule["layer_type"],
                  "bases": [{"inv_freq": rule.get("inv_freq"), "attention_factor": rule.get("attention_factor")}]}
                 for rule in case["rules"] if rule["layer_type"] != "indexer"]
        for of_types in bases:
            for layer_type, (inv_freq, factor) in of_types.items():
                rope = rope_of(layer_type, "", inv_freq, ropes)
                if rope is not None:  # else its layers are not rotated, whatever the class holds
                    compared.append(name)
                    wrong += basis_complaints(f"{name}, {layer_type}", rope["bases"][0], inv_freq, factor)
    print(len(set(compared)), "compared:", ", ".join(dict.fromkeys(compared)), "\nnot read by transformers:", *failing, sep="\n  ")
    assert not wrong, "\n".join(wrong)
    assert len(set(compared)) >= 30
