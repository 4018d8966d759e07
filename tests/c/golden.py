# SPDX-License-Identifier: MIT
"""The golden data of tests/golden/ through the shared library, by ctypes and nothing else:

    python3 golden.py LIBRARY FOLDER
"""
import ctypes as c
import json
import pathlib
import sys

ABI, FLOAT64, INT64 = 2, 2, 11
PAIRINGS = {"half": 1, "interleaved": 2}


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32), ("ndim", c.c_int32), ("shape", c.c_int64 * 5),
                ("strides", c.c_int64 * 5), ("is_read_only", c.c_int32)]


class Heads(c.Structure):
    _fields_ = [("tensor", Tensor), ("slot_mapping", c.POINTER(Tensor)), ("block_table", c.POINTER(Tensor)),
                ("scales", c.POINTER(Tensor)), ("scales_are_given", c.c_int32), ("hadamard_size", c.c_int64),
                ("scales_round_up", c.c_int32), ("scale_least", c.c_float), ("tensor_scale", c.c_float)]


class Operand(c.Structure):
    _fields_ = [("x", Heads), ("y", Heads), ("norm", c.c_void_p), ("first_lane", c.c_int64),
                ("is_unrotated", c.c_int32)]


class BackwardOperand(c.Structure):
    _fields_ = [("grad_y", Tensor), ("y", Tensor), ("grad_x", Tensor), ("norm", c.c_void_p),
                ("grad_weight", c.c_void_p), ("grad_weight_count", c.c_int64), ("first_lane", c.c_int64),
                ("is_unrotated", c.c_int32)]


class Gradients(c.Structure):
    _fields_ = [("inv_freq", c.c_void_p), ("inv_freq_count", c.c_int64), ("position_ids", c.c_void_p),
                ("position_ids_count", c.c_int64), ("attention_factor", c.c_void_p),
                ("attention_factor_count", c.c_int64)]


class BasisInfo(c.Structure):
    _fields_ = [("pairs", c.c_int64), ("attention_factor", c.c_double), ("fingerprint", c.c_uint64)]


library = c.CDLL(sys.argv[1])
library.cordage_last_error.restype = c.c_char_p
library.cordage_basis_at_length.argtypes = [c.c_void_p, c.c_double, c.c_void_p]
library.cordage_basis_from_numbers.argtypes = [c.c_int32, c.c_void_p, c.c_int64, c.c_double, c.c_void_p]
library.cordage_basis_get_inv_freq.argtypes = [c.c_void_p, c.c_void_p, c.c_int64]
checked = {}


def call(name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        raise ValueError(library.cordage_last_error().decode())


def doubles(numbers):
    return (c.c_double * len(numbers))(*numbers)


def tensor(numbers, shape):
    t = Tensor(data=c.addressof(numbers), dtype=FLOAT64, ndim=len(shape))
    t.shape[:len(shape)] = shape
    return t


def compare(kind, name, got, wanted, tolerance):
    most = max(map(abs, wanted))
    worst = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
    checked[kind] = max(checked.get(kind, 0.0), worst / most)
    assert worst <= tolerance * most, f"{kind} {name}: off by {worst / most:.2g}, may be {tolerance:.2g}"


def made(function, *arguments):
    handle = c.c_void_p()
    call(function, *arguments, c.byref(handle))
    return handle


def angles_of(inv_freq, factor, positions):
    numbers = doubles(inv_freq)
    basis = made("cordage_basis_from_numbers", ABI, numbers, len(numbers), factor)
    ids = doubles(positions["data"])
    angles = made("cordage_angles_create", (c.c_void_p * 1)(basis), c.c_int64(1),
                  c.byref(tensor(ids, positions["shape"])), None)
    call("cordage_basis_destroy", basis)
    return angles


def check_inv_freq(case):
    resolved, expected = case["resolved"], case["expected"]
    layer_type = case.get("layer_type")
    rule = made("cordage_rule_from_config", ABI, json.dumps(case["config"]).encode(),
                layer_type.encode() if layer_type else None)
    basis = made("cordage_basis_at_length", rule, float(resolved.get("seq_len") or 1))
    info = BasisInfo()
    call("cordage_basis_get_info", basis, c.byref(info))
    inv_freq = doubles([0.0] * info.pairs)
    call("cordage_basis_get_inv_freq", basis, inv_freq, len(inv_freq))
    compare("inv_freq", case["name"], inv_freq, expected["inv_freq"][:info.pairs], 1e-13)
    assert not any(expected["inv_freq"][info.pairs:]), case["name"]
    compare("attention factor", case["name"], [info.attention_factor], [expected["attention_factor"]], 1e-13)
    call("cordage_basis_destroy", basis)
    call("cordage_rule_destroy", rule)


def check_apply(case):
    pairing = PAIRINGS[case["layout"]]
    angles = angles_of(case["inv_freq"], case["attention_factor"], case["positions"])
    names, held = ["q", "k"], {}
    operands, backward = (Operand * 2)(), (BackwardOperand * 2)()
    for i, name in enumerate(names):
        shape = case[name]["shape"]
        x, g = doubles(case[name]["data"]), doubles(case["loss_weight_" + name]["data"])
        held[name] = x, g
        operands[i].x.tensor = tensor(x, shape)
        backward[i].y = tensor(x, shape)
        backward[i].grad_y = backward[i].grad_x = tensor(g, shape)
    call("cordage_rotate_forward", None, angles, pairing, operands, c.c_int64(2))
    lost = 2e-19 * max(map(abs, case["positions"]["data"]))  # of an angle's 2^-64 turn a position
    for name in names:
        compare("rotation", case["name"], held[name][0], case["out_" + name]["data"], 1e-13 + lost)
    inv_freq, positions = doubles([0.0] * len(case["inv_freq"])), doubles([0.0] * len(case["positions"]["data"]))
    gradients = Gradients(inv_freq=c.addressof(inv_freq), inv_freq_count=len(inv_freq),
                          position_ids=c.addressof(positions), position_ids_count=len(positions))
    call("cordage_rotate_backward", None, angles, pairing, c.byref(gradients), backward, c.c_int64(2))
    for name in names:
        compare("gradient to x", case["name"], held[name][1], case["d" + name]["data"], 1e-13 + lost)
    compare("gradient to inv_freq", case["name"], inv_freq, case["dinv_freq"], 1e-12 + lost)
    compare("gradient to positions", case["name"], positions, case["dpositions"]["data"], 1e-12 + lost)
    call("cordage_angles_destroy", angles)


def check_rebase(case):
    to, of = (angles_of(case["inv_freq_" + which], 1.0, case["positions"]) for which in "ba")
    difference = made("cordage_angles_difference", to, of)
    keys = doubles(case["k_rotated_a"]["data"])
    operand = Operand()
    operand.x.tensor = tensor(keys, case["k"]["shape"])
    call("cordage_rebase", None, difference, PAIRINGS[case["layout"]], c.byref(operand), c.c_int64(1))
    compare("rebase", case["name"], keys, case["k_rotated_b"]["data"], 1e-13)
    for handle in to, of, difference:
        call("cordage_angles_destroy", handle)


def main():
    folder = pathlib.Path(sys.argv[2])
    counts = {}
    for file, checks in (("policies.json", {"inv_freq": check_inv_freq}),
                         ("rope_apply.json", {"apply": check_apply, "rebase": check_rebase})):
        for case in json.loads((folder / file).read_text())["cases"]:
            if case["kind"] in checks:
                checks[case["kind"]](case)
                counts[case["kind"]] = counts.get(case["kind"], 0) + 1
    assert counts.get("inv_freq", 0) > 20 and counts.get("apply", 0) > 5 and counts.get("rebase", 0) > 1, counts
    print(library.cordage_abi(), counts, {kind: f"{worst:.1e}" for kind, worst in checked.items()})


main()
