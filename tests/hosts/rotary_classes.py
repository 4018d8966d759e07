# SPDX-License-Identifier: MIT
"""The configs and rotary classes of the installed transformers, and the matrix by which a class rotates q."""
import ast
import functools
import importlib
import inspect
import os
import re

import torch
import transformers
from transformers import PreTrainedConfig

MODELS = os.path.dirname(transformers.models.__file__)

# Rotary classes whose callers annotate no config class, or another one than they are given: the config classes used.
CONFIGS_OF = {
    "EsmFold2RotaryEmbedding": ["EsmFold2AtomEncoderConfig"],
    "SeamlessM4TConformerRotaryPositionalEmbedding": ["SeamlessM4TConfig"],
    "T5GemmaRotaryEmbedding": ["T5GemmaModuleConfig"],
    "Wav2Vec2BertRotaryPositionalEmbedding": ["Wav2Vec2BertConfig"],
    "Wav2Vec2ConformerRotaryPositionalEmbedding": ["Wav2Vec2ConformerConfig"],
    "DiffusionGemmaTextRotaryEmbedding": ["DiffusionGemmaTextConfig"],
    "IdeficsRotaryEmbedding": ["IdeficsConfig"],
}


def modules(prefix):
    """All modules of transformers.models whose name has this beginning and that can be imported: (package, module)."""
    for package in sorted(os.listdir(MODELS)):
        folder = os.path.join(MODELS, package)
        for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if file.startswith(prefix) and file.endswith(".py"):
                try:
                    yield package, importlib.import_module(f"transformers.models.{package}.{file[:-3]}")
                except ImportError:  # of a package that is not installed
                    continue


def classes_of(module, base):
    return [c for c in vars(module).values()
            if inspect.isclass(c) and issubclass(c, base) and c.__module__ == module.__name__]


@functools.cache
def config_classes():
    """All config classes."""
    return [c for _, module in modules("configuration_") for c in classes_of(module, PreTrainedConfig)]


def parts_of(config, path):
    """A config and its sub-configs: (path, config)."""
    yield path, config
    for key, value in vars(config).items():
        if isinstance(value, PreTrainedConfig):
            yield from parts_of(value, f"{path}.{key.lstrip('_')}")


@functools.cache
def default_configs():
    """Every config class with its defaults, and its sub-configs, each once: {(class, text): path}."""
    found = {}
    for c in config_classes():
        try:
            config = c()
        except Exception:  # some need arguments
            continue
        for path, part in parts_of(config, c.__name__):
            found.setdefault((type(part), part.to_json_string()), (path, part))
    return list(found.values())


def is_rotary(name):
    return re.search(r"Rotary|RoPE|Rope[A-Z]", name) is not None


@functools.cache
def rotary_classes():
    return {c.__name__: c for _, module in modules("modeling_") for c in classes_of(module, torch.nn.Module)
            if is_rotary(c.__name__)}


@functools.cache
def users():
    """{(rotary class, config class)}, by the annotation of `config` where a model constructs the rotary class."""
    by_name = {}
    for c in config_classes():
        by_name.setdefault(c.__name__, c)
    found = {}
    for _, module in modules("modeling_"):
        source = inspect.getsource(module)
        for definition in ast.parse(source).body if is_rotary(source) else []:
            for function in definition.body if isinstance(definition, ast.ClassDef) else []:
                if not isinstance(function, ast.FunctionDef):
                    continue
                for call in ast.walk(function):
                    name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
                    if name in rotary_classes():
                        annotations = {a.arg: ast.unparse(a.annotation) for a in function.args.args if a.annotation}
                        configs = CONFIGS_OF.get(name, [annotations.get("config", "")])
                        for config in configs:
                            found[(rotary_classes()[name], by_name.get(config.split(" ")[0], config))] = None
    return list(found)


@functools.cache
def rotary_classes_of(config_class):
    """The rotary classes of a config class, of its bases, or of the model that transformers constructs from it."""
    by_config = {}
    for rotary_class, of in users():
        by_config.setdefault(of, []).append(rotary_class)
    name = transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES.get(config_class.model_type)
    try:
        model = getattr(transformers, str(name), None)
        candidates = [*config_class.__mro__, getattr(model, "config_class", None)]
    except ImportError:  # of a package that is not installed
        candidates = config_class.__mro__
    return next((by_config[c] for c in candidates if c in by_config), [])


def made(rotary_class, config):
    """{suffix of the layer type: rotary module}"""
    if "scaled" in inspect.signature(rotary_class.__init__).parameters:  # Molmo 2
        rest = set(range(config.num_hidden_layers)) - set(config.rope_scaling_layers)
        return {"scaled": rotary_class(config)} | ({"unscaled": rotary_class(config, scaled=False)} if rest else {})
    if getattr(config, "layer_rope_theta", None):  # Granite: one base a layer, as its model makes them
        out = {}
        for theta in sorted({theta for theta in config.layer_rope_theta if theta}):
            parameters = {**config.rope_parameters, "rope_theta": theta}
            own = type(config)(**{**config.to_dict(), "rope_parameters": parameters})
            out[f"theta {theta}"] = rotary_class(own)
        return out
    return {"": rotary_class(config)}


def forward_parameters(rotary):
    return inspect.signature(rotary.forward).parameters


@torch.no_grad()
def bases(rotary, length):
    """{layer type: (inv_freq, attention factor)} after a sequence of this length."""
    if "position_ids" in forward_parameters(rotary):
        layer_types = getattr(rotary, "rope_type", None)
        for layer_type in layer_types if isinstance(layer_types, dict) else [None]:
            position_ids = torch.tensor([[length - 1]])
            try:
                rotary(torch.zeros(1), position_ids, **({"layer_type": layer_type} if layer_type else {}))
            except (RuntimeError, IndexError, TypeError):
                pass  # positions of several axes; the buffers are what they are
    found = {}
    for name, buffer in rotary.named_buffers():
        if name.endswith("inv_freq") and not name.endswith("original_inv_freq"):
            prefix = name.removesuffix("inv_freq")
            factor = getattr(rotary, prefix + "attention_scaling", 1.0)
            found[prefix.rstrip("_")] = (buffer.double().flatten().tolist(), float(factor))
    return found


def axes_of(rotary):
    """The number of axes of the class's positions."""
    source = inspect.getsource(type(rotary).forward)
    expanded = re.search(r"position_ids.expand\((\w+)", source)
    if expanded is None:
        return 1
    return int(expanded[1]) if expanded[1].isdigit() else len(rotary.mrope_section)


def apply_function(rotary, config):
    """The function of the rotary class's module that rotates q."""
    module = inspect.getmodule(type(rotary))
    names = ["apply_rotary_pos_emb", "apply_rotary_emb"]
    interleaved = "apply_rotary_pos_emb_interleave"
    if hasattr(module, interleaved) and getattr(config, "rope_interleave", True):
        names.insert(0, interleaved)
    return next(getattr(module, name) for name in names if hasattr(module, name))


@torch.no_grad()
def rotated(rotary, config, layer_type, position_ids, lanes):
    """The matrix of the rotation at each position: [tokens, lanes out, lanes in].

    position_ids: [axes, tokens]
    """
    axes, tokens = len(position_ids), len(position_ids[0])
    ids = torch.tensor(position_ids)[:, None, :] if axes > 1 else torch.tensor(position_ids)
    more = {"layer_type": layer_type} if layer_type else {}
    made = rotary(torch.zeros(1, dtype=torch.float32), ids, **more)
    apply = apply_function(rotary, config)
    one_hot = torch.eye(lanes)[None, :, None, :].expand(1, lanes, tokens, lanes).contiguous()  # lane h is head h
    parameters = list(inspect.signature(apply).parameters)
    if parameters[0] == "x":
        out = apply(one_hot, *made)
    elif "freqs_cis" in parameters:
        heads_last = "[:, :, None, :]" in inspect.getsource(apply)
        x = one_hot.transpose(1, 2).contiguous() if heads_last else one_hot
        out = apply(x, x, made)[0]
        out = out.transpose(1, 2) if heads_last else out
    else:
        out = apply(one_hot, one_hot, *made)[0]
    return out[0].permute(1, 2, 0).double().numpy()


def attention_with_a_condition():
    """Attention classes that rotate q under a condition on the layer: (class, condition)."""
    found = []

    def visit(node, module, owner, conditions):
        if isinstance(node, ast.ClassDef):
            owner = node.name
        if isinstance(node, ast.If):
            for child in node.body:
                visit(child, module, owner, [*conditions, ast.unparse(node.test)])
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("apply_rot"):
            if conditions and re.search(r"self\.\w*(sliding|local)", conditions[0]):
                found.append((getattr(module, owner), conditions[0]))
        for child in ast.iter_child_nodes(node):
            visit(child, module, owner, conditions)

    for _, module in modules("modeling_"):
        visit(ast.parse(inspect.getsource(module)), module, "", [])
    return found


def config_of(attention):
    """The config class in an attention class's annotation."""
    return inspect.signature(attention.__init__).parameters["config"].annotation
