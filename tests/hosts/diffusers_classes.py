# SPDX-License-Identifier: MIT
"""The rotary classes and functions of diffusers: what each does to q, and the recipe that has cordage do the same.

A case of a definition is (recipe, heads, head_dim, rotated): the recipe as tests/conformance/image_recipe.hpp reads it,
and rotated(x), which makes of x [tokens, heads, head_dim] what the class and the function that applies it make of it.
`python tests/hosts/diffusers_classes.py` writes tests/golden/diffusers.json.
"""
import math
import random
import typing

import diffusers
import torch
from diffusers.models import embeddings
import golden_file
from diffusers_wheel import by_complex, by_table, in_double, module_of, named, nested, x_of

FILE = golden_file.FOLDER / "diffusers.json"

# Definitions that are found below and make no angles for q and k, by why.
OTHERS = {
    "embeddings that are added: of time steps, sizes, guidance, patches": """
        AudioDiTSinusPositionEmbedding FourierFeatures GaussianFourierProjection Kandinsky5TimeEmbeddings
        Krea2TimestepEmbedding MiniMaxMusic3FourierEmbedding QwenImage21TemporalTimesteps SinusoidalPositionalEmbedding
        StableAudio3DurationEmbedder StableAudio3ExpoFourierFeatures StableAudioGaussianFourierProjection
        StableAudioPositionalEmbedding StableCascadeUNet TimestepEmbedder _sinusoidal_embedding
        get_1d_sincos_pos_embed_from_grid get_fourier_embeds_from_boundingbox get_rfd4_time_embedding
        get_timestep_embedding""",
    "apply what a class of ENTRIES makes": "ErnieImageSingleStreamAttnProcessor _apply_rotary_partial",
    "a part of a class of ENTRIES": "models.transformers.transformer_hidream_image:rope",
    "cameras and filters": """
        UpSample1d _rot_x _rot_y compute_fx_from_fov_xi compute_up_lat_map create_pan_cameras""",
}


# Recipes -----------------------------------------------------------------------------------------------------------

def spaced(count, first=0, step=1):
    return [first + i * step for i in range(count)]


def grid(*coordinates):
    return {"grid": [list(c) for c in coordinates]}


def text(count, first, step=None):
    return {"text": count, "first": list(first), "step": list(step or [0] * len(first))}


def recipe(axes, pieces, *rotations, **more):
    return {"axes": axes, "pieces": pieces, "rotations": list(rotations), **more}


def blocks(widths, theta_base, layout="interleaved", **more):
    """Each axis rotates a block of neighbouring pairs by frequencies of its own."""
    return {"layout": layout, "sections": [w // 2 for w in widths], "theta_base": theta_base, **more}


def thirds(head_dim):
    """Wan's widths: 2 (head_dim // 6) lanes each for rows and columns, the remaining lanes for frames."""
    side = 2 * (head_dim // 6)
    return [head_dim - 2 * side, side, side]


def ids_of(pieces):
    """Positions [tokens, axes] of a recipe."""
    rows = []
    for piece in pieces:
        if "text" in piece:
            rows += [[f + i * s for f, s in zip(piece["first"], piece["step"])] for i in range(piece["text"])]
        else:
            product = [[]]
            for axis in piece["grid"]:
                product = [row + [c] for row in product for c in axis]
            rows += product
    return torch.tensor(rows)


def sides(draw, count=3, most=4):
    return [draw.randint(1, most) for _ in range(count)]


class Entry(typing.NamedTuple):
    definition: str
    cells: tuple  # axes and widths, bases, coordinates, pairs, recipe: of the table in docs/migrating.md
    case: typing.Callable  # case(draw, definition)


ENTRIES = []


def covers(*listed, axes, bases, coordinates, pairs, by):
    """Registers a function as the maker of cases for these definitions."""
    def add(case):
        ENTRIES.extend(Entry(d, (axes, bases, coordinates, pairs, by), case) for d in listed)
        return case

    return add


T = "models.transformers."
# The recipes of docs/migrating.md.
BLOCKS, POLICIES, VECTOR, HEADS, LINE = "blocks", "policies", "one vector", "heads", "line"


# Ids from outside: [tokens, axes] ----------------------------------------------------------------------------------

def of_ids(draw, definition, widths, theta_base, axes_pieces):
    ids = ids_of(axes_pieces)
    embed = lambda: named(definition)(theta=theta_base, axes_dim=widths)(ids)  # noqa: E731
    return recipe(len(widths), axes_pieces, blocks(widths, theta_base)), 2, sum(widths), by_table(embed)


@covers(T + "transformer_flux:FluxPosEmbed", T + "transformer_bria:BriaEmbedND", T + "transformer_bria:BriaPosEmbed",
        T + "transformer_bria_fibo:BriaFiboEmbedND",
        axes="3: 16, 56, 56", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="text at 0; image, row, column; Kontext's reference is image 1; Chroma, too")
def flux(draw, definition):
    rows, columns = sides(draw, 2)
    pieces = [text(draw.randint(0, 4), [0, 0, 0]), grid([0], spaced(rows), spaced(columns)),
              grid([1], spaced(columns), spaced(rows))]
    return of_ids(draw, definition, [4, 6, 6], draw.choice([256, 10000]), pieces)


@covers(T + "transformer_ovis_image:OvisImagePosEmbed",
        axes="3: 16, 56, 56", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="text: 0, index, index; image: 0, row, column")
def ovis_image(draw, definition):
    pieces = [text(draw.randint(1, 4), [0, 0, 0], [0, 1, 1]), grid([0], *map(spaced, sides(draw, 2)))]
    return of_ids(draw, definition, [4, 6, 6], 10000, pieces)


@covers(T + "transformer_longcat_image:LongCatImagePosEmbed",
        axes="3: 16, 56, 56", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="text: 0, index, index; image: 1, and row and column from the 512 of the text on")
def longcat_image(draw, definition):
    pieces = [text(draw.randint(1, 4), [0, 0, 0], [0, 1, 1]),
              *(grid([i], spaced(2, 512), spaced(draw.randint(1, 3), 512)) for i in (1, 2))]
    return of_ids(draw, definition, [4, 6, 6], 10000, pieces)


@covers(T + "transformer_krea2:Krea2RotaryPosEmbed",
        axes="3: 32, 48, 48", bases="1000", pairs="interleaved", by=BLOCKS,
        coordinates="text at 0; 0, row, column")
def krea2(draw, definition):
    rows, columns = sides(draw, 2)
    return of_ids(draw, definition, [4, 6, 6], 1000, [text(3, [0, 0, 0]), grid([0], spaced(rows), spaced(columns))])


@covers(T + "transformer_flux2:Flux2PosEmbed",
        axes="4: 32 each", bases="2000", pairs="interleaved", by=BLOCKS,
        coordinates="text: 0, 0, 0, index; image: time, row, column, 0; references at times 10, 20, …")
def flux2(draw, definition):
    rows, columns = sides(draw, 2)
    pieces = [text(draw.randint(1, 4), [0, 0, 0, 0], [0, 0, 0, 1]), grid([0], spaced(rows), spaced(columns), [0]),
              grid([10], spaced(columns), spaced(rows), [0])]
    return of_ids(draw, definition, [4, 4, 4, 4], 2000, pieces)


@covers(T + "transformer_flux3:Flux3PosEmbed",
        axes="4: 32 each", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="text: 0, 0, 0, index; image: 0, row and column times `image_rope_scale`, 0; references at −1, −2, …")
def flux3(draw, definition):
    rows, columns = sides(draw, 2)
    scale = draw.choice([0.5, 1.0, 1.25])
    pieces = [text(draw.randint(1, 4), [0, 0, 0, 0], [0, 0, 0, 1]),
              grid([0], spaced(rows, 0, scale), spaced(columns, 0, scale), [0]),
              grid([0], spaced(rows, 0, scale), spaced(columns, 0, scale), [-1])]
    return of_ids(draw, definition, [4, 4, 4, 4], 10000, pieces)


@covers(T + "transformer_hidream_image:HiDreamImageEmbedND",
        axes="3: 64, 32, 32", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="0, row, column; text at 0")
def hidream(draw, definition):
    rows, columns = sides(draw, 2)
    widths, module = [8, 4, 4], module_of(definition)
    pieces = [grid([0], spaced(rows), spaced(columns)), text(draw.randint(0, 3), [0, 0, 0])]
    ids = ids_of(pieces)[None]

    def rotated(x):
        table = module.HiDreamImageEmbedND(10000, widths)(ids)
        return module.apply_rope(x[None], x[None], table)[0][0]

    return recipe(3, pieces, blocks(widths, 10000)), 2, 16, rotated


@covers(T + "transformer_prx:PRXEmbedND",
        axes="2: 32, 32", bases="10000", pairs="interleaved", by=BLOCKS, coordinates="row, column; text is not rotated")
def prx(draw, definition):
    rows, columns = sides(draw, 2)
    pieces, module = [grid(spaced(rows), spaced(columns))], module_of(definition)

    def rotated(x):
        table = module.PRXEmbedND(16, 10000, [8, 8])(ids_of(pieces)[None])
        return module.apply_rope(x.transpose(0, 1)[None], table)[0].transpose(0, 1)

    return recipe(2, pieces, blocks([8, 8], 10000)), 2, 16, rotated


@covers(T + "transformer_z_image:RopeEmbedder",
        "models.controlnets.controlnet_z_image:RopeEmbedder", T + "transformer_bria_fibo2:RopeEmbedder",
        axes="3: 32, 48, 48", bases="256", pairs="interleaved", by=BLOCKS,
        coordinates="text: 1 + index, 0, 0; image: 1 past the padded text, row, column")
def z_image(draw, definition):
    widths, count = [4, 6, 6], draw.randint(0, 5)
    rows, columns = sides(draw, 2)
    pieces = [text(count, [1, 0, 0], [1, 0, 0]), grid([count + 1], spaced(rows), spaced(columns))]
    apply = nested(definition if "transformer" in definition else T + "transformer_z_image:", "apply_rotary_emb")

    def rotated(x):
        return apply(x[None], named(definition)(256.0, widths, [64, 128, 128])(ids_of(pieces))[None])[0]

    return recipe(3, pieces, blocks(widths, 256)), 2, 16, rotated


@covers(T + "transformer_minimax_h3:MiniMaxH3RotaryPosEmbed",
        axes="3: 32 each, 96 of 128 lanes", bases="10000", pairs="half_split", by=BLOCKS,
        coordinates="time, row, column as the processor says, fractional")
def minimax_h3(draw, definition):
    pieces = [grid(spaced(2, draw.random()), spaced(3, 0, 0.5), spaced(2))]
    module = module_of(definition)

    def rotated(x):
        cos, sin = named(definition)(4, 10000.0)(ids_of(pieces))
        return module._apply_rotary_emb(x[None], cos, sin)[0]

    return recipe(3, pieces, blocks([8, 8, 8], 10000, "half_split")), 2, 32, rotated


@covers("models.autoencoders.autoencoder_kl_minimax_h3:MiniMaxH3VideoRotaryPosEmbed",
        axes="3: as wide each", bases="100, times 2π", pairs="half_split", by=BLOCKS,
        coordinates="each axis from −1 to 1: `spaced(n, -1, 2.0 / n)`, with 2π·100^(−i/n) as the frequencies")
def minimax_h3_video(draw, definition):
    counts = sides(draw)
    pieces = [grid(*(spaced(n, -1, 2 / n) for n in counts))]

    def rotated(x):
        cos, sin = named(definition)(24)(ids_of(pieces)[None])
        first, second = x[..., :24].chunk(2, dim=-1)
        rotated = x[..., :24] * cos[0] + torch.cat((-second, first), dim=-1) * sin[0]
        return torch.cat((rotated, x[..., 24:]), dim=-1)

    inv_freq = [2 * math.pi * 100 ** (-i / 4) for _ in range(3) for i in range(4)]
    return recipe(3, pieces, {"layout": "half_split", "sections": [4, 4, 4], "inv_freq": inv_freq}), 1, 32, rotated


def mrope(draw, definition, make):
    offset = draw.choice([0, 65536])
    pieces = [text(draw.randint(1, 4), [0, 0, 0], [1, 1, 1]), grid([offset], spaced(3, offset), spaced(2, offset))]
    module, sections = module_of(definition), [4, 2, 2]

    def rotated(x):
        cos, sin = make(named(definition), sections, ids_of(pieces))
        return x * cos[0][:, None] + module._rotate_half(x) * sin[0][:, None]

    rotation = {"layout": "half_split", "sections": sections, "interleaved": True, "inv_freq_of_all": 5e6}
    return recipe(3, pieces, rotation), 2, 16, rotated


@covers(T + "transformer_ideogram4:Ideogram4MRoPE",
        axes="3: sections 24, 20, 20, interleaved", bases="5000000, over all pairs", pairs="half_split",
        by="`interleaved_axes`", coordinates="text: index on all; image: time, row, column from 65536 on")
def ideogram4(draw, definition):
    return mrope(draw, definition, lambda cls, sections, ids: cls(16, 5000000, sections)(ids[None]))


@covers(T + "transformer_cosmos3:Cosmos3VLTextRotaryEmbedding",
        axes="3: sections 24, 20, 20, interleaved", bases="5000000, over all pairs", pairs="half_split",
        by="`interleaved_axes`", coordinates="text: index on all; latents: frame · 24/fps, row, column after it")
def cosmos3(draw, definition):
    return mrope(draw, definition, lambda cls, sections, ids: cls(16, 5e6, sections)(
        ids.T[:, None], torch.device("cpu"), torch.float32))


# Grids of the latents' shape ---------------------------------------------------------------------------------------

def latents(draw, patch=(1, 2, 2)):
    """A random shape of latents, and its number of patches on each axis."""
    counts = sides(draw)
    return torch.zeros(1, 1, *(c * p for c, p in zip(counts, patch))), counts


def of_latents(draw, definition, widths, theta_base, make, patch=(1, 2, 2)):
    hidden, counts = latents(draw, patch)
    table = lambda: make(named(definition))(hidden)  # noqa: E731
    return recipe(3, [grid(*map(spaced, counts))], blocks(widths, theta_base)), 2, sum(widths), by_table(table)


@covers(T + "transformer_hunyuan_video:HunyuanVideoRotaryPosEmbed",
        T + "transformer_hunyuan_video15:HunyuanVideo15RotaryPosEmbed",
        T + "transformer_motif_video:MotifVideoRotaryPosEmbed",
        axes="3: 16, 56, 56", bases="256", pairs="interleaved", by=BLOCKS,
        coordinates="frame, row, column; text is not rotated")
def hunyuan_video(draw, definition):
    widths = [4, 6, 6]
    return of_latents(draw, definition, widths, 256.0, lambda cls: cls(2, 1, widths, 256.0))


@covers(T + "transformer_hunyuanimage:HunyuanImageRotaryPosEmbed",
        axes="2: 64, 64, or 3", bases="256", pairs="interleaved", by=BLOCKS, coordinates="row, column; frame first of 3")
def hunyuan_image(draw, definition):
    counts = sides(draw, 2)
    table = lambda: named(definition)([1, 1], [8, 8])(torch.zeros(1, 1, *counts))  # noqa: E731
    return recipe(2, [grid(*map(spaced, counts))], blocks([8, 8], 256)), 2, 16, by_table(table)


@covers(T + "transformer_hunyuan_video_framepack:HunyuanVideoFramepackRotaryPosEmbed",
        axes="3: 16, 56, 56", bases="256", pairs="interleaved", by=BLOCKS,
        coordinates="frames as `indices_latents` has them, row, column; cos and sin of packed history are averaged "
                    "after it: no rotations, `cos_sin_view`")
def framepack(draw, definition):
    frames = sorted(draw.sample(range(40), draw.randint(1, 4)))
    rows, columns = sides(draw, 2)
    table = lambda: named(definition)(2, 1, [4, 6, 6])(  # noqa: E731
        torch.tensor(frames), 2 * rows, 2 * columns, torch.device("cpu"))
    return recipe(3, [grid(frames, spaced(rows), spaced(columns))], blocks([4, 6, 6], 256)), 2, 16, by_table(table)


@covers(T + "transformer_helios:HeliosRotaryPosEmbed",
        axes="3: 44, 42, 42", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="frames as `indices_*` have them, row, column; cos and sin of the middle and long history are "
                    "averaged after it: no rotations, `cos_sin_view`")
def helios(draw, definition):
    frames = sorted(draw.sample(range(40), draw.randint(1, 4)))
    rows, columns = sides(draw, 2)

    def rotated(x):
        table = named(definition)([8, 4, 4], 10000.0)(torch.tensor([frames]), rows, columns, "cpu")
        return module_of(definition).apply_rotary_emb_transposed(x[None], table.flatten(2).transpose(1, 2))[0]

    pieces = [grid(frames, spaced(rows), spaced(columns))]
    return recipe(3, pieces, blocks([8, 4, 4], 10000)), 2, 16, rotated


@covers(T + "transformer_wan:WanRotaryPosEmbed", T + "transformer_wan_animate:WanRotaryPosEmbed",
        T + "transformer_sana_video:WanRotaryPosEmbed", T + "transformer_skyreels_v2:SkyReelsV2RotaryPosEmbed",
        T + "transformer_chronoedit:ChronoEditRotaryPosEmbed",
        axes="3: 44, 42, 42 of 128, in general d − 4⌊d/6⌋, 2⌊d/6⌋, 2⌊d/6⌋", bases="10000", pairs="interleaved",
        by=BLOCKS, coordinates="frame, row, column; ChronoEdit's two frames are at 0 and 7")
def wan(draw, definition):
    head_dim = draw.choice([24, 32])
    hidden, counts = latents(draw)
    frames = spaced(counts[0])
    if "ChronoEdit" in definition and counts[0] == 2:
        frames = [0, 7]
    apply = nested(definition, "apply_rotary_emb")
    rotated = lambda x: apply(x[None], *named(definition)(head_dim, (1, 2, 2), 64)(hidden))[0]  # noqa: E731
    rotation = blocks(thirds(head_dim), 10000)
    return recipe(3, [grid(frames, *map(spaced, counts[1:]))], rotation), 2, head_dim, rotated


@covers(T + "transformer_wan_animate_2:rope_params",
        axes="3: 44, 42, 42", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="frame · `time_stride`, row, column, each from an offset on")
def wan_animate_2(draw, definition):
    head_dim, stride, offsets = 24, draw.choice([1, 4]), [draw.randint(0, 30) for _ in range(3)]
    counts, module = sides(draw), module_of(definition)

    def rotated(x):
        freqs = torch.cat([module.rope_params(64, w, offset=o) for w, o in zip(thirds(head_dim), offsets)], dim=1)
        return module.rope_apply(x[None], torch.tensor([counts]), freqs, stride)[0]

    coordinates = [spaced(n, o, s) for n, o, s in zip(counts, offsets, (stride, 1, 1))]
    return recipe(3, [grid(*coordinates)], blocks(thirds(head_dim), 10000)), 2, head_dim, rotated


@covers(T + "transformer_sana_wm:SanaWMRotaryPosEmbed",
        axes="3: 40, 36, 36 of 112", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="frame, row, column; its camera branch rotates the first pairs of each axis: shorter sections of the "
                    "same frequencies")
def sana_wm(draw, definition):
    counts = sides(draw)

    def rotated(x):
        table = named(definition)(24, (1, 1, 1), 64)(tuple(counts))
        heads_first = x.permute(1, 2, 0)[None]  # [1, heads, lanes, tokens]
        return module_of(definition)._apply_rotary_emb(heads_first, table)[0].permute(2, 0, 1)

    return recipe(3, [grid(*map(spaced, counts))], blocks(thirds(24), 10000)), 2, 24, rotated


def anyflow_rotated(definition, embed, config):
    apply = module_of(definition).apply_rotary_emb
    return lambda x: apply(x.transpose(0, 1)[None], embed()(config, torch.device("cpu"))["query"])[0].transpose(0, 1)


@covers(T + "transformer_anyflow:AnyFlowRotaryPosEmbed",
        axes="3: 44, 42, 42", bases="10000", pairs="interleaved", by=BLOCKS, coordinates="frame, row, column")
def anyflow(draw, definition):
    frames, rows, columns = sides(draw)
    config = {"total_frames": frames, "full_frame_shape": (rows, columns)}
    rotated = anyflow_rotated(definition, lambda: named(definition)(24, (1, 2, 2), 64), config)
    pieces = [grid(spaced(frames), spaced(rows), spaced(columns))]
    return recipe(3, pieces, blocks(thirds(24), 10000)), 2, 24, rotated


@covers(T + "transformer_anyflow_far:AnyFlowCausalRotaryPosEmbed",
        axes="3: 44, 42, 42", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="compressed frames: frame, and the middle of s rows or columns, `spaced(n, (s - 1) / 2.0, s)` "
                    "(s ≤ 6); then whole ones")
def anyflow_far(draw, definition):
    frames, compressed = 4, draw.randint(0, 3)
    rows, columns = 2 * draw.randint(1, 3), 2 * draw.randint(1, 3)
    config = {"total_frames": frames, "full_frame_shape": (rows, columns), "num_compressed_frames": compressed,
              "compressed_frame_shape": (rows // 2, columns // 2)}
    rotated = anyflow_rotated(definition, lambda: named(definition)(24, (1, 2, 2), (1, 4, 4), 64), config)
    pieces = [grid(spaced(compressed), spaced(rows // 2, 0.5, 2), spaced(columns // 2, 0.5, 2)),
              grid(spaced(frames - compressed, compressed), spaced(rows), spaced(columns))]
    return recipe(3, pieces, blocks(thirds(24), 10000)), 2, 24, rotated


@covers("models.autoencoders.ltx2_diffusion_decoder:LTX2VideoVaeRotaryPosEmbed3D",
        axes="3: a quarter, and half of the rest each", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="frame, row, column")
def ltx2_vae(draw, definition):
    counts = sides(draw)

    def rotated(x):
        return named(definition)(16)(x.reshape(1, *counts, 2, 16)).reshape(x.shape)

    return recipe(3, [grid(*map(spaced, counts))], blocks([4, 6, 6], 10000)), 2, 16, rotated


@covers(T + "transformer_joyimage:JoyImageEditTransformer3DModel",
        axes="3: 16, 56, 56", bases="256", pairs="interleaved", by=BLOCKS,
        coordinates="frame, row, column; text after the largest of them, on all axes")
def joyimage(draw, definition):
    counts, count, widths = sides(draw), draw.randint(1, 4), [4, 6, 6]
    module = module_of(definition)
    model = type("Model", (), {"hidden_size": 32, "num_attention_heads": 2, "rope_dim_list": widths, "theta": 256})

    def rotated(x):
        tables = module.JoyImageEditTransformer3DModel.get_rotary_pos_embed(model, counts, count)
        return module._apply_rotary_emb(x[None], x[None], [torch.cat(c, dim=0) for c in zip(*tables)])[0][0]

    pieces = [grid(*map(spaced, counts)), text(count, [max(counts)] * 3, [1, 1, 1])]
    return recipe(3, pieces, blocks(widths, 256)), 2, 16, rotated


@covers(T + "transformer_joyimage_edit_plus:JoyImageEditPlusTransformer3DModel",
        axes="3: 16, 56, 56", bases="256", pairs="interleaved", by=BLOCKS,
        coordinates="frame, row, column, each image from a start on")
def joyimage_edit_plus(draw, definition):
    start, counts, widths = [draw.randint(0, 9) for _ in range(3)], sides(draw), [4, 6, 6]
    module = module_of(definition)
    config = type("Config", (), {"hidden_size": 32, "num_attention_heads": 2, "rope_dim_list": widths, "theta": 256})
    model = type("Model", (), {"config": config})

    def rotated(x):
        stop = [s + n for s, n in zip(start, counts)]
        cos, sin = getattr(module, definition.split(":")[1])._get_rotary_pos_embed_for_range(model, start, stop)
        return module._apply_rotary_emb_batched(x[None], x[None], (cos[None], sin[None]))[0][0]

    pieces = [grid(*(spaced(n, s) for n, s in zip(counts, start)))]
    return recipe(3, pieces, blocks(widths, 256)), 2, 16, rotated


@covers(T + "transformer_kandinsky:Kandinsky5RoPE3D", T + "transformer_kandinsky6:Kandinsky6RoPE3D",
        T + "transformer_kandinsky6_sr:Kandinsky6SRRoPE3D",
        axes="3: 16, 24, 24; Kandinsky 6: 32, 48, 48", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="frame, row, column, each over its `scale_factor`")
def kandinsky(draw, definition):
    counts, widths = sides(draw), [4, 6, 6]
    scale = [draw.choice([1.0, 1.5, 2.0]) for _ in range(3)]
    first = [draw.randint(0, 20) for _ in range(3)]
    pos = [torch.arange(f, f + n) for f, n in zip(first, counts)]
    five = definition.endswith("5RoPE3D")
    apply = nested(definition, "apply_rotary") if five else module_of(definition).apply_rotary

    def rotated(x):
        arguments = ((1, *counts), pos, scale) if five else (pos, scale)
        table = named(definition)(widths)(*arguments)
        return apply(x, table.reshape(-1, 1, 8, 2, 2))

    pieces = [grid(*([c / s for c in spaced(n, f)] for n, f, s in zip(counts, first, scale)))]
    return recipe(3, pieces, blocks(widths, 10000)), 2, 16, rotated


@covers(T + "transformer_kandinsky:Kandinsky5RoPE1D", T + "transformer_kandinsky6:Kandinsky6RoPE1D",
        axes="1", bases="10000", pairs="interleaved", by=LINE,
        coordinates="index; Kandinsky 6's audio: times `audio_freqs_scaling`")
def kandinsky_text(draw, definition):
    count, scaling = draw.randint(1, 9), 1.0 if "5" in definition else draw.choice([1.0, 0.25])
    apply = nested(definition, "apply_rotary") if "5" in definition else module_of(definition).apply_rotary
    more = {} if "5" in definition else {"freqs_scaling": scaling}
    rotated = lambda x: apply(x, named(definition)(16, **more)(torch.arange(count)))  # noqa: E731
    return recipe(1, [text(count, [0], [scaling])], blocks([16], 10000)), 2, 16, rotated


def qwen_pieces(images, count, first_text, condition=None):
    pieces = []
    for index, (frames, rows, columns) in enumerate(images):
        at = -1 if index == condition else index
        pieces.append(grid(spaced(frames, at), spaced(rows, -(rows - rows // 2)),
                           spaced(columns, -(columns - columns // 2))))
    return pieces + [text(count, [first_text] * 3, [1, 1, 1])]


@covers(T + "transformer_qwenimage:QwenEmbedRope", T + "transformer_nucleusmoe_image:NucleusMoEEmbedRope",
        axes="3: 16, 56, 56", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="image, and rows and columns about 0, `spaced(n, -(n - n / 2))`; text on all axes after the "
                    "largest (Nucleus: of the last image)")
def qwen_image(draw, definition):
    images = [sides(draw) for _ in range(draw.randint(1, 2))]
    count, widths = draw.randint(1, 5), [4, 6, 6]
    of = images if "Qwen" in definition else images[-1:]
    first = max(max(rows // 2, columns // 2) for _, rows, columns in of)
    return qwen_case(definition, widths, images, count, qwen_pieces(images, count, first))


def qwen_case(definition, widths, images, count, pieces):
    module = module_of(definition)
    apply = getattr(module, "apply_rotary_emb_qwen", None) or module._apply_rotary_emb_nucleus

    def table():
        embed = named(definition)(10000, widths, scale_rope=True)
        shapes = [tuple(i) for i in images]
        return torch.cat(embed([shapes], max_txt_seq_len=count, device=torch.device("cpu")), dim=0)

    return recipe(3, pieces, blocks(widths, 10000)), 2, sum(widths), by_complex(apply, table)


@covers(T + "transformer_qwenimage:QwenEmbedLayer3DRope",
        axes="3: 16, 56, 56", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="as Qwen-Image: layer, row, column; the image it is conditioned on, the last one, is layer −1")
def qwen_layers(draw, definition):
    images = [[1, *sides(draw, 2)] for _ in range(draw.randint(1, 3))]
    count = draw.randint(1, 5)
    first = max(len(images) - 1, *(max(rows // 2, columns // 2) for _, rows, columns in images))
    return qwen_case(definition, [4, 6, 6], images, count, qwen_pieces(images, count, first, len(images) - 1))


@covers(T + "transformer_qwenimage21:QwenImage21Rope",
        axes="3: 16, 56, 56", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="text: index on all axes; an image stands at the next one, rows and columns about 0; text goes on "
                    "past its longer side")
def qwen_image_21(draw, definition):
    widths, pieces, mask, images, at = [4, 6, 6], [], [], [], 0
    for _ in range(draw.randint(1, 2)):
        count, (rows, columns) = draw.randint(1, 3), sides(draw, 2)
        images.append((1, rows, columns))
        pieces += [text(count, [at] * 3, [1, 1, 1]),
                   grid([at + count], spaced(rows, -(rows - rows // 2)), spaced(columns, -(columns - columns // 2)))]
        mask += [False] * count + [True] * rows * columns
        at += count + max(rows, columns)
    pieces.append(text(2, [at] * 3, [1, 1, 1]))
    mask = torch.tensor(mask + [False] * 2)
    table = lambda: named(definition)(10000, widths)(images, mask, torch.device("cpu"))  # noqa: E731
    rotation = blocks(widths, 10000)
    return recipe(3, pieces, rotation), 2, 16, by_complex(module_of(definition).apply_rotary_emb_qwen, table)


@covers(T + "transformer_lumina2:Lumina2RotaryPosEmbed",
        axes="3: 32 each", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="text: index, 0, 0; image: the text's length, row, column")
def lumina2(draw, definition):
    count, (rows, columns) = draw.randint(1, 4), sides(draw, 2)

    def table():
        embed = named(definition)(10000, [8, 4, 4])
        return embed(torch.zeros(1, 1, 2 * rows, 2 * columns), torch.ones(1, count, dtype=torch.int64))[3]

    rotated = lambda x: embeddings.apply_rotary_emb(x[None], table(), use_real=False)[0]  # noqa: E731
    pieces = [text(count, [0, 0, 0], [1, 0, 0]), grid([count], spaced(rows), spaced(columns))]
    return recipe(3, pieces, blocks([8, 4, 4], 10000)), 2, 16, rotated


@covers(T + "transformer_cogview4:CogView4RotaryPosEmbed",
        axes="2: half of the lanes each", bases="10000", pairs="half_split", by=BLOCKS,
        coordinates="⌊row · 256 / rows⌋, ⌊column · 256 / columns⌋; text is not rotated")
def cogview4(draw, definition):
    counts = sides(draw, 2, 7)
    table = lambda: named(definition)(16, 2, (256, 256))(torch.zeros(1, 1, *(2 * c for c in counts)))  # noqa: E731
    pieces = [grid(*([i * 256 // n for i in range(n)] for n in counts))]
    return recipe(2, pieces, blocks([8, 8], 10000, "half_split")), 2, 16, by_table(table, use_real_unbind_dim=-2)


@covers(T + "transformer_glm_image:GlmImageRotaryPosEmbed",
        axes="2: half of the lanes each", bases="10000", pairs="half_split", by=BLOCKS,
        coordinates="row, column; text is not rotated")
def glm_image(draw, definition):
    counts = sides(draw, 2)
    table = lambda: named(definition)(16, 2)(torch.zeros(1, 1, *(2 * c for c in counts)))  # noqa: E731
    rotation = blocks([8, 8], 10000, "half_split")
    return recipe(2, [grid(*map(spaced, counts))], rotation), 2, 16, by_table(table, use_real_unbind_dim=-2)


@covers(T + "transformer_cosmos:CosmosRotaryPosEmbed",
        axes="3: 44, 42, 42", bases="10000, `ntk_aware` at t = `rope_scale` of the axis", pairs="half_split",
        by=POLICIES, coordinates="frame · 24/fps (an image: frame), row, column")
def cosmos(draw, definition):
    fps, scale = draw.choice([None, 16, 30]), [draw.choice([1.0, 2.0, 3.0]) for _ in range(3)]
    hidden, counts = latents(draw)
    table = lambda: named(definition)(32, rope_scale=scale)(hidden, fps)  # noqa: E731
    widths = [32 - 2 * (32 // 6 * 2), 32 // 6 * 2, 32 // 6 * 2]
    bases = [{"pairs": w // 2, "theta_base": 10000, "ntk_aware": t} for w, t in zip(widths, scale)]
    pieces = [grid(spaced(counts[0], 0, 24 / (fps or 24)), *map(spaced, counts[1:]))]
    rotation = {"layout": "half_split", "sections": [w // 2 for w in widths], "bases": bases}
    return recipe(3, pieces, rotation), 2, 32, by_table(table, use_real_unbind_dim=-2)


# Coordinates that are spaced ---------------------------------------------------------------------------------------

def linspace(first, last, count):
    return spaced(count, first, (last - first) / (count - 1) if count > 1 else 0)


def cropped(start, stop, counts):
    """Coordinates of a crop, from its start up to and without its stop."""
    return [linspace(a, b * (n - 1) / n, n) for a, b, n in zip(start, stop, counts)]


@covers("models.embeddings:get_3d_rotary_pos_embed",
        axes="3: d/4, 3d/8, 3d/8", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="CogVideoX, ConsisID: frame, and n rows and columns from the crop's start to its stop·(n − 1)/n; "
                    "CogVideoX 1.5 (`slice`): frame, row, column")
def cogvideox(draw, definition):
    frames, *counts = sides(draw)
    kind = draw.choice(["linspace", "slice"])
    start, stop = [draw.randint(0, 5), draw.randint(0, 5)], [draw.randint(20, 30), draw.randint(30, 45)]
    more = {"grid_type": kind, "max_size": (30, 45)}
    table = lambda: named(definition)(16, (start, stop), counts, frames, **more)  # noqa: E731
    coordinates = cropped(start, stop, counts) if kind == "linspace" else map(spaced, counts)
    return recipe(3, [grid(spaced(frames), *coordinates)], blocks([4, 6, 6], 10000)), 2, 16, by_table(table)


@covers(T + "transformer_easyanimate:EasyAnimateRotaryPosEmbed",
        axes="3: d/4, 3d/8, 3d/8", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="as CogVideoX's, in the crop of its shape in the middle of 30 × 45; text is not rotated")
def easyanimate(draw, definition):
    frames, *counts = sides(draw)
    embed = named(definition)(2, 16)
    start, stop = embed.get_resize_crop_region_for_grid(counts, 45, 30)
    table = lambda: embed(torch.zeros(1, 1, frames, *(2 * n for n in counts)))  # noqa: E731
    pieces = [grid(spaced(frames), *cropped(start, stop, counts))]
    return recipe(3, pieces, blocks([4, 6, 6], 10000)), 2, 16, by_table(table)


@covers("models.embeddings:get_2d_rotary_pos_embed_from_grid",
        axes="2: half of the lanes each", bases="10000", pairs="interleaved", by=BLOCKS,
        coordinates="Hunyuan-DiT (`get_2d_rotary_pos_embed`): column, then row, spaced from the crop's start to its "
                    "stop·(n − 1)/n")
def hunyuan_dit(draw, definition):
    rows, columns = sides(draw, 2)
    start, stop = [draw.randint(0, 5), draw.randint(0, 5)], [draw.randint(20, 30), draw.randint(30, 45)]
    table = lambda: embeddings.get_2d_rotary_pos_embed(16, (start, stop), (rows, columns))  # noqa: E731
    spaced_rows, spaced_columns = cropped(start, stop, (rows, columns))
    pieces = [grid(spaced_columns, [c]) for c in spaced_rows]  # columns are the first axis, and fastest
    return recipe(2, pieces, blocks([8, 8], 10000)), 2, 16, by_table(table)


@covers("models.embeddings:get_2d_rotary_pos_embed_lumina",
        axes="2: pairs in turn, row, column, row, …", bases="10000 · `ntk_factor`", pairs="interleaved",
        by="`interleaved_axes`", coordinates="Lumina-Next: row, column, each over `linear_factor`; each frequency twice")
def lumina_next(draw, definition):
    counts, linear, ntk = sides(draw, 2), draw.choice([1.0, 2.0]), draw.choice([1.0, 4.0])
    table = lambda: named(definition)(16, *counts, linear, ntk).flatten(0, 1)[None]  # noqa: E731
    rotated = lambda x: embeddings.apply_rotary_emb(x[None], table(), use_real=False)[0]  # noqa: E731
    inv_freq = [(10000 * ntk) ** (-i / 4) for i in range(4) for _ in range(2)]
    pieces = [grid(*(spaced(n, 0, 1 / linear) for n in counts))]
    rotation = {"layout": "interleaved", "sections": [4, 4], "interleaved": True, "inv_freq": inv_freq}
    return recipe(2, pieces, rotation), 2, 16, rotated


@covers("models.embeddings:get_3d_rotary_pos_embed_allegro",
        axes="3: a third of the lanes each", bases="10000", pairs="half_split within each third",
        by="`half_split` at `first_lane` 0, d/3, 2d/3",
        coordinates="Allegro: frame, row, column, each over its `interpolation_scale`; rows and columns as CogVideoX's")
def allegro(draw, definition):
    frames, rows, columns = sides(draw)
    scale, stop = [draw.choice([1.0, 2.0]) for _ in range(3)], [draw.randint(9, 30), draw.randint(9, 30)]

    def rotated(x):
        *tables, grid_t, grid_h, grid_w = named(definition)(24, ((0, 0), stop), (rows, columns), frames, scale)
        places = torch.cartesian_prod(*(torch.arange(n) for n in (frames, rows, columns))).T[:, None]
        return embeddings.apply_rotary_emb_allegro(x.transpose(0, 1)[None], tables, places)[0].transpose(0, 1)

    coordinates = [spaced(frames, 0, 1 / scale[0]),
                   *([c / s for c in axis] for axis, s in zip(cropped((0, 0), stop, (rows, columns)), scale[1:]))]
    rotations = [{"layout": "half_split", "first_lane": 8 * a, "axis_of_pair": [a] * 4, "sections": [4],
                  "theta_base": 10000} for a in range(3)]
    return recipe(3, [grid(*coordinates)], *rotations), 2, 24, rotated


@covers(T + "transformer_mochi:MochiRoPE",
        axes="3, each on every pair", bases="learned, [3, heads, pairs]", pairs="interleaved", by=HEADS,
        coordinates="frame, and centres of s times rows and columns about 0, `spaced(n, s * (1 - n) / 2, s)`, "
                    "s = √(192²/(rows · columns))")
def mochi(draw, definition):
    frames, rows, columns = sides(draw)
    heads, pairs = 3, 4
    learned = [[[draw.uniform(-2, 2) for _ in range(pairs)] for _ in range(heads)] for _ in range(3)]
    apply = nested("models.attention_processor:", "apply_rotary_emb")

    def rotated(x):
        tables = named(definition)()(torch.tensor(learned), frames, rows, columns, dtype=x.dtype)
        return apply(x[None], *tables)[0]

    scale = (192 * 192 / (rows * columns)) ** 0.5
    centred = [spaced(n, scale * (1 - n) / 2, scale) for n in (rows, columns)]
    data = [learned[a][h][i] for h in range(heads) for a in range(3) for i in range(pairs)]
    rotation = {"layout": "interleaved", "inv_freq_of_heads": {"shape": [heads, 3, pairs], "data": data}}
    return recipe(3, [grid(spaced(frames), *centred)], rotation), heads, 2 * pairs, rotated


# LTX: frequencies that rise from pi/2 to theta pi/2, dealt to the axes in turn over all lanes of all heads ---------

def ltx_rotation(lanes, axes, theta_base):
    """Frequencies of the pairs of all heads together; pairs before the first frequency are not rotated."""
    count = lanes // (2 * axes)
    still = lanes // 2 - axes * count
    inv_freq = [0.0] * still
    inv_freq += [math.pi / 2 * theta_base ** (i / (count - 1)) for i in range(count) for _ in range(axes)]
    return {"layout": "interleaved", "inv_freq": inv_freq,
            "axis_of_pair": [0] * still + list(range(axes)) * count}


def ltx_heads(lanes, axes, theta_base, heads):
    """The same, split by head: [heads, axes, pairs] for half_split heads."""
    whole = ltx_rotation(lanes, axes, theta_base)
    pairs = lanes // 2 // heads
    data = [whole["inv_freq"][h * pairs + i] if whole["axis_of_pair"][h * pairs + i] == a else 0.0
            for h in range(heads) for a in range(axes) for i in range(pairs)]
    return {"layout": "half_split", "inv_freq_of_heads": {"shape": [heads, axes, pairs], "data": data}}


def whole_vectors(apply, tables):
    """A function for x [1, tokens, lanes of all heads]."""
    return lambda x: apply(x.flatten(1)[None], tables()).reshape(x.shape)


def within(coordinates, largest):
    return [2 * c / largest - 1 for c in coordinates]


@covers(T + "transformer_ltx:LTXVideoRotaryPosEmbed",
        axes="3, in turn over all lanes of all heads", bases="π/2 · 10000^(i/(n − 1)), n = lanes/6", pairs="interleaved",
        by=VECTOR, coordinates="2c/size − 1: frame · scale over 20, row · 32 and column · 32 over 2048")
def ltx(draw, definition):
    counts, lanes = sides(draw), draw.choice([24, 32])
    scale = [draw.choice([8 / 25, 1.0]), 32, 32]
    apply = module_of(definition).apply_rotary_emb
    tables = lambda: named(definition)(lanes)(  # noqa: E731
        torch.zeros(1), *counts, rope_interpolation_scale=scale)
    pieces = [grid(*(within(spaced(n, 0, s), size) for n, s, size in zip(counts, scale, (20, 2048, 2048))))]
    return recipe(3, pieces, ltx_rotation(lanes, 3, 10000)), 1, lanes, whole_vectors(apply, tables)


def ltx2_middles(count, factor, offset=1, shift=0):
    """Centres of the latents' intervals on the axis that they compress; the first interval is shorter."""
    def edge(i):
        return max(0, i * factor + offset - factor)
    return [(edge(i) + edge(i + 1)) / 2 for i in range(shift, shift + count)]


def ltx2_case(definition, kind, lanes, heads, coordinates, make, theta_base=10000.0):
    axes = len(coordinates)
    pieces = [grid(*coordinates)]
    if kind == "interleaved":
        apply = module_of(T + "transformer_ltx2:").apply_interleaved_rotary_emb
        return recipe(axes, pieces, ltx_rotation(lanes, axes, theta_base)), 1, lanes, whole_vectors(apply, make)
    apply = module_of(T + "transformer_ltx2:").apply_split_rotary_emb
    rotation = ltx_heads(lanes, axes, theta_base, heads)
    return recipe(axes, pieces, rotation), heads, lanes // heads, whole_vectors(apply, make)


@covers(T + "transformer_ltx2:LTX2AudioVideoRotaryPosEmbed",
        T + "transformer_sana_wm_refiner:SanaWMLTX2AudioVideoRotaryPosEmbed",
        axes="3 (video), 1 (audio and cross attention), in turn over all lanes of all heads",
        bases="π/2 · 10000^(i/(n − 1)), n = lanes/(2 axes)",
        pairs="`rope_type` interleaved: interleaved; split: half_split in each head", by=f"{VECTOR}; split: {HEADS}",
        coordinates="2c/size − 1 of the middle of what a latent covers: seconds over 20, pixels over 2048")
def ltx2(draw, definition):
    kind, heads, lanes = draw.choice(["interleaved", "split"]), 2, draw.choice([24, 32])
    if draw.random() < 0.5:
        counts, fps = sides(draw), draw.choice([24.0, 25.0])
        coordinates = [within([c / fps for c in ltx2_middles(counts[0], 8)], 20),
                       *(within(spaced(n, 16, 32), 2048) for n in counts[1:])]

        def make():
            embed = named(definition)(lanes, rope_type=kind, num_attention_heads=heads)
            return embed(embed.prepare_video_coords(1, *counts, torch.device("cpu"), fps))
    else:
        count, shift = draw.randint(1, 7), draw.randint(0, 2)
        middles = ltx2_middles(count, 4, 1, shift)
        coordinates = [within([c * 160 / 16000 for c in middles], 20)]

        def make():
            embed = named(definition)(lanes, rope_type=kind, num_attention_heads=heads, modality="audio",
                                      scale_factors=(4,))
            return embed(embed.prepare_audio_coords(1, count, torch.device("cpu"), shift))

    return ltx2_case(definition, kind, lanes, heads, coordinates, make)


@covers("pipelines.ltx2.connectors:LTX2RotaryPosEmbed1d",
        axes="1, over all lanes of all heads", bases="π/2 · 10000^(i/(n − 1)), n = lanes/2", pairs="as LTX-2's",
        by=f"{VECTOR}; split: {HEADS}", coordinates="2 · index/4096 − 1")
def ltx2_connector(draw, definition):
    kind, heads, count = draw.choice(["interleaved", "split"]), 2, draw.randint(1, 9)

    def make():
        return named(definition)(32, rope_type=kind, num_attention_heads=heads)(1, count, torch.device("cpu"))

    return ltx2_case(definition, kind, 32, heads, [within(spaced(count), 4096)], make)


# One axis ----------------------------------------------------------------------------------------------------------

@covers("models.embeddings:get_1d_rotary_pos_embed", T + "transformer_bria:get_1d_rotary_pos_embed",
        T + "ace_step_transformer:_ace_step_rotary_freqs",
        axes="1", bases="10000; ACE-Step 1000000", pairs="half_split with `repeat_interleave_real=False`", by=LINE,
        coordinates="Stable Audio (half of a head's lanes), ACE-Step: index; `ntk_factor` times the base")
def get_1d(draw, definition):
    count, theta_base = draw.randint(1, 9), draw.choice([10000.0, 1e6])
    linear, ntk = (1.0, 1.0) if "ace" in definition else (draw.choice([1.0, 2.0]), draw.choice([1.0, 4.0]))

    def tables():
        if "ace" in definition:
            return named(definition)(count, 16, theta_base, torch.device("cpu"), torch.float32)
        return named(definition)(16, torch.arange(count), theta_base, True, linear, ntk, repeat_interleave_real=False)

    rotation = blocks([16], theta_base * ntk, "half_split")
    return recipe(1, [text(count, [0], [1 / linear])], rotation), 2, 16, by_table(tables, use_real_unbind_dim=-2)


@covers(T + "transformer_stable_audio3:StableAudio3RotaryEmbedding", "models.autoencoders.autoencoder_same:RotaryEmbedding",
        T + "transformer_minimax_music3:MiniMaxMusic3RotaryEmbedding",
        T + "transformer_longcat_audio_dit:AudioDiTRotaryEmbedding",
        "models.condition_embedders.condition_embedder_anima:AnimaRotaryEmbedding",
        axes="1; the first lanes of a head where not all", bases="10000; LongCat-AudioDiT 100000", pairs="half_split",
        by=LINE, coordinates="index")
def one_axis(draw, definition):
    count, module, make = draw.randint(1, 9), module_of(definition), named(definition)
    lanes = 8 if any(part in definition for part in ("audio3", "music3", "same")) else 16
    theta_base = 100000.0 if "AudioDiT" in definition else 10000.0

    def rotated(x):
        if lanes == 8 and "music3" not in definition:
            return module._apply_rotary_partial(x[None], make(lanes)(count, torch.device("cpu")))[0]
        if lanes == 8:
            return module._apply_partial_rotary_emb(x[None], make(lanes)(count, torch.device("cpu")))[0]
        if "AudioDiT" in definition:
            return module._apply_rotary_emb(x[None], make(lanes)(x[None]))[0]
        cos, sin = make(lanes)(x, torch.arange(count)[None])
        return module._apply_rotary_pos_emb(x.transpose(0, 1)[None], cos, sin)[0].transpose(0, 1)

    return recipe(1, [text(count, [0], [1])], blocks([lanes], theta_base, "half_split")), 2, 16, rotated


@covers("pipelines.kolors.text_encoder:RotaryEmbedding",
        axes="1: half of a head's lanes", bases="10000", pairs="interleaved", by=LINE, coordinates="index")
def kolors(draw, definition):
    count = draw.randint(1, 9)

    def rotated(x):
        table = named(definition)(8, dtype=torch.float32)(count)
        return module_of(definition).apply_rotary_pos_emb(x[:, None], table)[:, 0]

    return recipe(1, [text(count, [0], [1])], blocks([8], 10000)), 2, 16, rotated


@covers(T + "transformer_omnigen:OmniGenSuScaledRotaryEmbedding",
        axes="1", bases="10000, `longrope` × `two_regimes`, `longrope_attention_factor(32, 4096)`", pairs="half_split",
        by="`exact_angles`", coordinates="index; the length at hand is the largest position + 1")
def omnigen(draw, definition):
    length = draw.choice([9, 5000])
    factors = {name: [draw.uniform(1, 4) for _ in range(8)] for name in ("short_factor", "long_factor")}
    pieces = [text(4, [length - 4], [1])]
    tables = lambda: named(definition)(16, rope_scaling=factors)(  # noqa: E731
        torch.zeros(1), ids_of(pieces)[:, 0][None])
    longrope = {"theta_base": 10000, "original_length": 4096, "longest": 131072, "length": length, **factors}
    rotation = {"layout": "half_split", "longrope": longrope}
    return recipe(1, pieces, rotation), 2, 16, by_table(tables, use_real_unbind_dim=-2)


# No rotation: the two lanes of a pair have different angles --------------------------------------------------------

@covers(T + "transformer_ernie_image:ErnieImageEmbedND3",
        axes="3: 32, 48, 48", bases="256", coordinates="text: index, 0, 0; image: the text's length, row, column",
        pairs="lanes i and i + d/2, each rotated by an angle of its own: no rotation", by="two rotations")
def ernie_image(draw, definition):
    widths, count, (rows, columns) = [4, 6, 6], draw.randint(1, 4), sides(draw, 2)
    pieces = [grid([count], spaced(rows), spaced(columns)), text(count, [0, 0, 0], [1, 0, 0])]
    apply = nested(definition, "apply_rotary_emb")
    rotated = lambda x: apply(x[None], named(definition)(16, 256, widths)(ids_of(pieces)[None]))[0]  # noqa: E731
    inv_freq = [256 ** (-2 * i / w) for w in widths for i in range(w // 2)]
    axis_of_pair = [a for a, w in enumerate(widths) for _ in range(w // 2)]
    rotations = [{"layout": "half_split", "inv_freq": [inv_freq[(i + half) // 2] for i in range(8)],
                  "axis_of_pair": [axis_of_pair[(i + half) // 2] for i in range(8)]} for half in (0, 8)]
    return recipe(3, pieces, *rotations, second_from_lane=8), 2, 16, rotated


def case(entry, seed):
    """The recipe, x and the class's result for a definition."""
    draw = random.Random(f"{entry.definition} {seed}")
    made, heads, head_dim, rotated = entry.case(draw, entry.definition)
    return made, (len(ids_of(made["pieces"])), heads, head_dim), rotated


def golden_case(entry):
    """The smallest of several random cases with at least 4 tokens."""
    cases = [case(entry, seed) for seed in range(20)]
    return min((c for c in cases if c[1][0] >= 4), key=lambda c: c[1])


def golden():
    cases = []
    for entry in ENTRIES:
        made, shape, rotated = golden_case(entry)
        with in_double():
            y = rotated(x_of(*shape))
        cases.append({"kind": "image_rotation", "name": entry.definition, "recipe": made, "shape": list(shape),
                      "y": y.flatten().tolist()})
    return {
        "description": "What the rotary classes of image, video and audio models do to q, and recipes that do the same.",
        "source": f"diffusers {diffusers.__version__} with torch {torch.__version__}, computed in float64",
        "convention": {
            "y": "[tokens, heads, head_dim] of x, where x at index n is ((7919 n) mod 97 - 48) / 16",
            "pieces": "of the positions: text, token i at first + i step; grid, the last axis fastest",
            "rotations": "one after the other, in place; where second_from_lane is, both of x, and lanes from there "
                         "on are those of the second",
            "bases": "of the axes' sections: theta_base, bases, or inv_freq of all pairs; inv_freq_of_all: one base over "
                     "all pairs; inv_freq_of_heads [heads, axes, pairs]: each pair is rotated by all axes"},
        "cases": cases}


if __name__ == "__main__":
    FILE.write_text(golden_file.text_of(golden()))
