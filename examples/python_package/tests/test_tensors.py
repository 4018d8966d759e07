# SPDX-License-Identifier: MIT
"""Accepted arrays, and errors, after which nothing is written."""
import numpy as np
import pytest

import cordage

BASIS = cordage.Basis([1.0, 0.1, 0.01, 0.001])
ANGLES = cordage.Angles(BASIS, np.arange(3))


class Exported:
    """An array of another library, which has only __dlpack__."""

    def __init__(self, array, is_old=False):
        self.array, self.is_old = array, is_old

    def __dlpack__(self, **arguments):
        if self.is_old and arguments:
            raise TypeError("max_version")
        return self.array.__dlpack__(**arguments)


def test_dlpack_is_read_and_written_where_it_lies():
    x = np.ones((3, 2, 8), np.float32)
    expected, = cordage.rotate(x, angles=ANGLES, pairing="half_split")
    same = Exported(x)
    assert cordage.rotate(same, angles=ANGLES, pairing="half_split", out=same)[0] is same
    assert (x == expected).all()
    assert (cordage.Angles(BASIS, Exported(np.arange(3))).shape) == (3,)


def test_dlpack_that_does_not_say_that_it_may_be_written_is_only_read():
    x = np.ones((3, 2, 8), np.float32)
    old, y = Exported(x, is_old=True), np.empty_like(x)
    cordage.rotate(old, angles=ANGLES, pairing="half_split", out=y)
    with pytest.raises(ValueError, match="is read-only, must be writable"):
        cordage.rotate(old, angles=ANGLES, pairing="half_split", out=old)
    assert (x == 1).all()


def test_a_negated_view_of_torch_is_refused():
    x = Exported(np.ones((3, 2, 8), np.float32))
    x.is_neg = lambda: True  # DLPack would give it without its sign
    with pytest.raises(ValueError, match=r"x\[0\] must not be a negated view; pass its resolve_neg\(\)"):
        cordage.rotate(x, angles=ANGLES, pairing="half_split", out=np.empty((3, 2, 8), np.float32))


def test_what_is_wrong_with_dlpack_is_named_as_the_argument():
    x, wrong = np.ones((3, 2, 8), np.float32), Exported(np.ones((3, 2, 8), np.uint16))
    with pytest.raises(ValueError, match=r"^rotate: x\[1\] of type uint16 must be float16"):  # once, dl_tensor
        cordage.rotate(x, wrong, angles=ANGLES, pairing="half_split", out=(x, x))
    with pytest.raises(cordage.ShapeError, match=r"^rotate: out\[0\]\.ndim 6 must be 1 to 5"):
        cordage.rotate(x, angles=ANGLES, pairing="half_split", out=Exported(np.ones((1, 1, 1, 3, 2, 8), np.float32)))
    assert (x == 1).all()


def test_read_only_arrays_are_not_written():
    x = np.ones((3, 2, 8), np.float32)
    x.flags.writeable = False
    cordage.rotate(x, angles=ANGLES, pairing="half_split")
    with pytest.raises(ValueError, match="is read-only"):
        cordage.rotate(x, angles=ANGLES, pairing="half_split", out=x)


def test_positions_that_repeat_one_number_in_memory():
    x = np.ones((3, 2, 8), np.float32)
    same, = cordage.rotate(x, angles=cordage.Angles(BASIS, np.broadcast_to(5, (3,))), pairing="half_split")
    assert (same == cordage.rotate(x, angles=cordage.Angles(BASIS, [5, 5, 5]), pairing="half_split")[0]).all()


@pytest.mark.parametrize("error, message, x, arguments", [
    (cordage.ShapeError, r"angles \[1, 3\] must be \[1 or batch, tokens\] of \[1, 4, 2, 8\]", np.ones((4, 2, 8), "f4"), {}),
    (ValueError, "pairing None must be one of half_split, interleaved", np.ones((3, 2, 8), "f4"), {"pairing": None}),
    (ValueError, r"x\[0\] complex64 must be of float32", np.ones((3, 2, 8), "c8"), {}),
    (ValueError, r"x\[0\] >f4 must be of .* in this machine's byte order", np.ones((3, 2, 8), ">f4"), {}),
    (cordage.ShapeError, r"x\[0\] \(\) must have 1 to 5 axes", np.array(1.0, "f4"), {}),
    (cordage.ShapeError, r"must have strides of whole elements, not all 0", np.broadcast_to(np.float32(1), (3, 2, 8)), {}),
    (TypeError, r"x\[0\] of type list must be an array of numpy", [1.0], {"out": np.ones((3, 2, 8), "f4")}),
    (TypeError, "give out", [1.0], {}),
    (cordage.ShapeError, "2 of out must be one for each of 1 arrays", np.ones((3, 2, 8), "f4"), {"out": (1, 2)}),
    (ValueError, "threads 0 must be", np.ones((3, 2, 8), "f4"), {"threads": 0}),
    (ValueError, r"x\[0\] float32 must be uint8, and dtype 'q8_0'", cordage.Heads(np.ones((3, 2, 8), "f4"), dtype="q8_0"),
     {"out": np.ones((3, 2, 8), "f4")}),
    (ValueError, r"x\[0\].tensor_scale 0.0 must be positive", cordage.Heads(np.ones((3, 2, 8), "u1"), tensor_scale=0.0),
     {"out": np.ones((3, 2, 8), "f4")}),
    (ValueError, r"x\[0\].scales uint8 must be of float32, float8_e8m0fnu",
     cordage.Heads(np.ones((3, 2, 8), "i1"), scales=np.ones((1, 3, 2), "u1")), {"out": np.ones((3, 2, 8), "f4")}),
    (cordage.ShapeError, "last axis blocks of 34 bytes", cordage.Heads(np.ones((3, 2, 33), "u1"), dtype="q8_0"),
     {"out": np.ones((3, 2, 32), "f4")}),
])
def test_what_is_refused_is_named(error, message, x, arguments):
    with pytest.raises(error, match=message):
        cordage.rotate(x, **{"angles": ANGLES, "pairing": "half_split", **arguments})


def test_what_is_refused_of_bases_and_positions():
    with pytest.raises(ValueError, match=r"inv_freq \(1, 2\) must be \[rotary_dim/2\]"):
        cordage.Basis([[1.0, 2.0]])
    with pytest.raises(ValueError, match="inv_freq"):
        cordage.Basis([np.nan])
    with pytest.raises(ValueError, match="inv_freq float32 must be float64"):
        cordage.Basis(np.ones(16, np.float32))
    assert cordage.Basis([1, 0]).inv_freq.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="position"):
        cordage.Angles(BASIS, [1.0, np.inf])
    for wrong in np.int8, np.float16, np.complex64:
        with pytest.raises(ValueError, match=r"Angles: position_ids \w+ must be of int32, int64, float32, float64, in"):
            cordage.Angles(BASIS, np.ones(3, wrong))
    with pytest.raises(ValueError, match="count 0 of bases"):
        cordage.Angles([], [1])
    with pytest.raises(cordage.ShapeError, match=r"axis_of_pair \(3,\) must be \[pairs\], pairs 4"):
        cordage.Angles(BASIS, [[1], [2]], axis_of_pair=[0, 1, 0])
    with pytest.raises(TypeError, match=r"bases\[1\] of type list must be a cordage.Basis"):
        cordage.Angles([BASIS, [1.0]], [1])
    with pytest.raises(TypeError, match="angles of type Basis must be cordage.Angles"):
        cordage.rotate(np.ones((3, 2, 8), "f4"), angles=BASIS, pairing="half_split")
    with pytest.raises(ValueError, match="name 'fast'"):
        cordage.select_kernels("fast")


def test_what_would_wrap_or_end_early_on_its_way_to_c_is_refused():
    x = np.ones((3, 2, 8), np.float32)
    with pytest.raises(ValueError, match="basis_of_token int64 must be whole numbers that fit into int32"):
        cordage.Angles([BASIS, BASIS], [0, 1, 2], basis_of_token=[0, 2**32, 1])
    with pytest.raises(ValueError, match="axis_of_pair int64 must be whole numbers that fit into uint8"):
        cordage.Angles(BASIS, [[1], [2]], axis_of_pair=[0, 1, 256, 0])
    with pytest.raises(ValueError, match="axis_of_pair float64 must be whole"):
        cordage.Angles(BASIS, [[1], [2]], axis_of_pair=[0, 1, 0.5, 0])
    with pytest.raises(ValueError, match="first_lane .* must fit into 64 bits"):
        cordage.rotate(x, angles=ANGLES, pairing="half_split", first_lane=2**64)
    with pytest.raises(ValueError, match=r"rotate: x\[0\].hadamard_size .* must fit into 64 bits"):
        cordage.rotate(cordage.Heads(x, hadamard_size=2**64), angles=ANGLES, pairing="half_split", out=x)
    with pytest.raises(ValueError, match="head_dim .* must fit into 64 bits"):
        cordage.Rule.from_numbers(head_dim=2**64 + 64, original_length=4096)
    with pytest.raises(ValueError, match="config .* must have no NUL"):
        cordage.Rule.from_config("{}\0")
    with pytest.raises(TypeError, match="scales of type list must be an array"):
        cordage.rotate(x, angles=ANGLES, pairing="half_split",
                       out=cordage.Heads(np.zeros((3, 2, 8), np.int8), scales=[[1.0, 1.0]] * 3))
