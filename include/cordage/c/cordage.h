/* SPDX-License-Identifier: MIT */
/* cordage for C and languages that call C: rules of models, bases, angles, and the rotation of q and k (C99).
 *
 *   cordage_rule *rule;      the rotation that a config.json describes
 *   cordage_basis *basis;    its frequencies at a length
 *   cordage_angles *angles;  of the positions of a batch; created once for all layers
 *   cordage_operand qk[2] = {{.x = {cordage_dense(q, CORDAGE_FLOAT32, 1, tokens, heads, head_dim)}},
 *                            {.x = {cordage_dense(k, CORDAGE_FLOAT32, 1, tokens, kv_heads, head_dim)}}};
 *   if (cordage_rule_from_file(CORDAGE_ABI, "config.json", NULL, NULL, &rule) ||
 *       cordage_basis_at_length(rule, 131072, &basis) ||
 *       cordage_angles_create((const cordage_basis *const[]){basis}, 1, &position_ids, NULL, &angles) ||
 *       cordage_rotate_forward(NULL, angles, CORDAGE_HALF_SPLIT, qk, 2))
 *       fprintf(stderr, "%s\n", cordage_last_error());
 *
 * Link the library of the CMake target cordage::c (docs/c_api.md), or compile the implementation in one C++20 unit of
 * your own:
 *
 *   #define CORDAGE_C_IMPLEMENTATION
 *   #include <cordage/c/cordage.h>
 *
 * Every function that does not return a string returns a status: CORDAGE_OK = 0, or the kind of error, and then
 * cordage_last_error() is the message: function, argument, value, and what was expected. A call that fails has written
 * nothing, except with CORDAGE_OUT_OF_MEMORY. Nothing is thrown or printed.
 *
 * Handles are checked: NULL, a destroyed handle and one of another kind are errors. An object keeps what it was created
 * from alive, so that handles may be destroyed in any order. All functions are thread-safe, also with the same handles.
 * Fields of a struct that are not set must be zero: write {.x = ...}, or use memset.
 */
#ifndef CORDAGE_C_CORDAGE_H
#define CORDAGE_C_CORDAGE_H

#include <stddef.h>
#include <stdint.h>

#ifndef CORDAGE_C_API
#define CORDAGE_C_API __attribute__((visibility("default")))
#endif

/* NOLINTBEGIN(modernize-use-using): this is C */
#ifdef __cplusplus
extern "C" {
#endif

/* The version of these declarations. The functions that create the first handles take it and reject another one. */
#define CORDAGE_ABI 2

/* Status of a call. */
typedef int32_t cordage_status;
enum {
    CORDAGE_OK = 0,
    CORDAGE_VALUE_ERROR = 1,   /* a number, name, handle or setting out of range */
    CORDAGE_SHAPE_ERROR = 2,   /* sizes, strides or tensors that do not fit each other */
    CORDAGE_OUT_OF_MEMORY = 3, /* tensors may have been written partly */
    CORDAGE_OTHER_ERROR = 4
};

/* The message of the calling thread's last failed call, at most 1023 bytes; "" before the first. Valid until the
 * thread's next failure. */
CORDAGE_C_API const char* cordage_last_error(void);
/* CORDAGE_ABI of the library, and its version as text, "MAJOR.MINOR.PATCH". */
CORDAGE_C_API int32_t cordage_abi(void);
CORDAGE_C_API const char* cordage_version(void);

/* The instruction set of the selected kernels: "avx512", "avx2", "baseline", or "native" if the implementation is a
 * unit of yours. By default the best one that the library and the processor support. */
CORDAGE_C_API const char* cordage_kernels(void);
/* Selects kernels by a name that cordage_kernels returns, for all threads; "best" selects the default. Fails if the
 * processor or library lacks them. Results of two instruction sets differ by rounding. */
CORDAGE_C_API cordage_status cordage_select_kernels(const char* name);

/* Tensors -------------------------------------------------------------------------------------------------------- */

/* Element type of a tensor. q8_0 and q4_0 are ggml's blocks of 32 lanes; FLOAT4_E2M1_X2 is a byte of two lanes, the
 * first in the low bits; FLOAT8_E8M0 is a power of two, for scales only. */
enum {
    CORDAGE_FLOAT32 = 1,
    CORDAGE_FLOAT64 = 2,
    CORDAGE_FLOAT16 = 3,
    CORDAGE_BFLOAT16 = 4,
    CORDAGE_INT8 = 5,
    CORDAGE_FLOAT8_E4M3 = 6,
    CORDAGE_FLOAT8_E5M2 = 7,
    CORDAGE_Q8_0 = 8,
    CORDAGE_Q4_0 = 9,
    CORDAGE_INT32 = 10,
    CORDAGE_INT64 = 11,
    CORDAGE_FLOAT4_E2M1_X2 = 12,
    CORDAGE_FLOAT8_E8M0 = 13
};

/* A view of the caller's memory. Sizes are slowest first; strides count elements, and are all 0 for a dense tensor. For
 * q8_0, q4_0 and float4 sizes count lanes, and strides blocks or bytes. */
typedef struct cordage_tensor {
    void* data;
    int32_t dtype;
    int32_t ndim; /* 1 to 5 */
    int64_t shape[5];
    int64_t strides[5];
    int32_t is_read_only; /* 1: a call that would write it fails */
} cordage_tensor;

/* A dense tensor [batch, tokens, heads, head_dim]. */
static inline cordage_tensor cordage_dense(void* data, int32_t dtype, int64_t batch, int64_t tokens, int64_t heads,
                                           int64_t head_dim) {
    cordage_tensor t = {data, dtype, 4, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, 0};
    t.shape[0] = batch;
    t.shape[1] = tokens;
    t.shape[2] = heads;
    t.shape[3] = head_dim;
    return t;
}

/* The tensor of a DLTensor (dlpack.h, DLPack 1.x) in host memory. Copies nothing and takes no ownership: the DLTensor's
 * owner must keep it alive. From dl_managed, a DLManagedTensorVersioned, with its read-only flag. */
CORDAGE_C_API cordage_status cordage_tensor_from_dlpack(const void* dl_tensor, cordage_tensor* tensor);
CORDAGE_C_API cordage_status cordage_tensor_from_dlpack_managed(const void* dl_managed, cordage_tensor* tensor);

/* Rules, bases, angles ------------------------------------------------------------------------------------------- */

typedef struct cordage_model cordage_model;
typedef struct cordage_rule cordage_rule;
typedef struct cordage_basis cordage_basis;
typedef struct cordage_angles cordage_angles;

/* The two lanes of pair i: i and i + rotary_dim/2, or 2i and 2i + 1. There is no default. */
enum { CORDAGE_HALF_SPLIT = 1, CORDAGE_INTERLEAVED = 2 };

/* The rotation of a model from the text of its config.json, in any spelling in docs/config_keys.md; unknown keys are
 * errors.
 * layer_type: the layers, as named in the config; NULL if all layers are alike. */
CORDAGE_C_API cordage_status cordage_rule_from_config(int32_t abi, const char* config, const char* layer_type,
                                                      cordage_rule** rule);
/* As above, from files: a config.json, Mistral's params.json, a GGUF file, a folder with one of the first two, or
 * "organisation/model", a name in the cache of transformers. checkpoint: NULL, or the weights of the model
 * (safetensors: a file, an index or a folder), from which the learned part of CLEX or LeRoPE is loaded; layers with a
 * CLEX of their own have layer_type "layer 0" and so on. A CLEX or LeRoPE without its weights is an error, and so are
 * learned weights that the config does not mention. */
CORDAGE_C_API cordage_status cordage_rule_from_file(int32_t abi, const char* path, const char* checkpoint,
                                                    const char* layer_type, cordage_rule** rule);

/* All rules of a model, and which layer has which; path and checkpoint as above. */
CORDAGE_C_API cordage_status cordage_model_from_file(int32_t abi, const char* path, const char* checkpoint,
                                                     cordage_model** model);
typedef struct cordage_model_info {
    int64_t layers; /* 0: the file does not tell which layer has which rule */
    int64_t rules;
    double max_length; /* 0: not given */
} cordage_model_info;
CORDAGE_C_API cordage_status cordage_model_get_info(const cordage_model* model, cordage_model_info* info);
/* The rule of layer 0, 1, ... Where the layer does not rotate q and k, is_unrotated of its info is 1. */
CORDAGE_C_API cordage_status cordage_rule_of_layer(const cordage_model* model, int64_t layer, cordage_rule** rule);
/* The layer's second rotation, of the indexer of its sparse attention, with lanes and pairing of its own; *rule is NULL
 * if it has none. */
CORDAGE_C_API cordage_status cordage_rule_of_indexer(const cordage_model* model, int64_t layer, cordage_rule** rule);

/* The factor on frequencies at a length ratio t, and the t of a length (docs/scaling_policies.md). */
enum { CORDAGE_UNSCALED = 1, CORDAGE_LINEAR = 2, CORDAGE_NTK_AWARE = 3, CORDAGE_YARN = 4, CORDAGE_LLAMA3 = 5 };
enum { CORDAGE_FIXED = 1, CORDAGE_CONTINUOUS = 2, CORDAGE_DYNAMIC = 3 };

/* A rule given by numbers. */
typedef struct cordage_rule_numbers {
    int64_t head_dim;
    int64_t rotary_dim;
    double theta_base;
    double original_length; /* tokens of the base model */
    int32_t policy;
    int32_t schedule;
    double factor; /* fixed: the t; continuous: the least t; dynamic: the config's factor; >= 1 */
} cordage_rule_numbers;
CORDAGE_C_API cordage_status cordage_rule_from_numbers(int32_t abi, const cordage_rule_numbers* numbers,
                                                       cordage_rule** rule);

/* Further properties of a rule. The caller must apply first_lane, axes, is_inverse, has_head_temperatures, query_beta
 * and log_scale where a model has them. */
typedef struct cordage_rule_info {
    int64_t head_dim;
    int64_t rotary_dim;
    int64_t first_lane; /* first rotated lane of a head */
    double theta_base;
    double original_length;
    int32_t pairing;               /* 0: unknown for this model family */
    int32_t axes;                  /* axes of positions; 1 except for M-RoPE */
    int32_t is_inverse;            /* 1: by the negative angle: use cordage_rotate_inverse for cordage_rotate_forward */
    int32_t has_head_temperatures; /* 1: multiply the queries of each head by scale ln(position + 1) + bias, numbers of
                                      the weights (docs/methods/lerope.md) */
    double query_beta;             /* query temperature, 0: none:
                                      1 + beta ln(1 + floor((position + query_counted_from) / query_block_length)) */
    double query_block_length;
    double query_counted_from;
    int32_t log_scale;    /* 1: the scores of a sequence of L > original_length tokens are multiplied by
                             ln L / ln original_length (CLEX) */
    int32_t is_unrotated; /* 1: these layers have no rotation of q and k; only query_... apply */
} cordage_rule_info;
CORDAGE_C_API cordage_status cordage_rule_get_info(const cordage_rule* rule, cordage_rule_info* info);
/* The axis of each pair, [rotary_dim/2]; `pairs` is the size of the array. */
CORDAGE_C_API cordage_status cordage_rule_get_axes(const cordage_rule* rule, uint8_t* axis_of_pair, int64_t pairs);

/* The frequencies for a sequence of `length` tokens, and those at a length ratio t >= 1. */
CORDAGE_C_API cordage_status cordage_basis_at_length(const cordage_rule* rule, double length, cordage_basis** basis);
CORDAGE_C_API cordage_status cordage_basis_at_ratio(const cordage_rule* rule, double t, cordage_basis** basis);
/* From numbers: inv_freq [pairs], radians per position; attention_factor multiplies cos and sin. */
CORDAGE_C_API cordage_status cordage_basis_from_numbers(int32_t abi, const double* inv_freq, int64_t pairs,
                                                        double attention_factor, cordage_basis** basis);

typedef struct cordage_basis_info {
    int64_t pairs; /* rotary_dim / 2 */
    double attention_factor;
    uint64_t fingerprint; /* a hash of all its numbers, to tag the blocks of a cache */
} cordage_basis_info;
CORDAGE_C_API cordage_status cordage_basis_get_info(const cordage_basis* basis, cordage_basis_info* info);
/* The frequencies, radians per position, [rotary_dim/2]; `pairs` is the size of the array. */
CORDAGE_C_API cordage_status cordage_basis_get_inv_freq(const cordage_basis* basis, double* inv_freq, int64_t pairs);

/* Options that most models do not need. */
typedef struct cordage_angle_options {
    const cordage_tensor* basis_of_token; /* int32 [tokens] or [batch, tokens], dense: index of each token's basis */
    const uint8_t* axis_of_pair; /* [pairs]: M-RoPE; positions are then [axes, tokens] or [axes, batch, tokens] */
    int32_t rounds_to_float32;   /* 1: angles in float32 as in most other code, error 7e-3 rad at position 10^5 */
} cordage_angle_options;

/* The angles of positions, within 3.7e-10 rad up to 2^31. They hold cos and sin: all layers of a model share a handle.
 * bases:         one, or one for each row of the batch, or those that basis_of_token selects
 * position_ids:  int32, int64, float32 or float64, [tokens] or [batch, tokens]; any sign, any stride
 * options:       may be NULL */
CORDAGE_C_API cordage_status cordage_angles_create(const cordage_basis* const* bases, int64_t count,
                                                   const cordage_tensor* position_ids,
                                                   const cordage_angle_options* options, cordage_angles** angles);
/* The angles that rotate keys of `from` into keys of `to`, exactly: for cordage_rebase. */
CORDAGE_C_API cordage_status cordage_angles_difference(const cordage_angles* to, const cordage_angles* from,
                                                       cordage_angles** difference);

/* NULL is ignored, as by free. */
CORDAGE_C_API cordage_status cordage_model_destroy(cordage_model* model);
CORDAGE_C_API cordage_status cordage_rule_destroy(cordage_rule* rule);
CORDAGE_C_API cordage_status cordage_basis_destroy(cordage_basis* basis);
CORDAGE_C_API cordage_status cordage_angles_destroy(cordage_angles* angles);

/* Rotations ------------------------------------------------------------------------------------------------------ */

/* A tensor of heads, dense or in the slots of a cache, and its format (docs/cache_path.md). */
typedef struct cordage_heads {
    /* [tokens, heads, head_dim] or [batch, tokens, heads, head_dim]; for a cache [blocks, block_size, heads, head_dim].
     * Strides in any order, the last 1. Five sizes, [.., heads, groups, lanes of a group]: heads split into groups, as
     * in vLLM's packed keys. */
    cordage_tensor tensor;
    /* For tokens in slots of a cache one of these, int32 or int64; entry -1 skips. */
    const cordage_tensor* slot_mapping; /* [tokens] or [batch, tokens]: the slot of each token */
    const cordage_tensor* block_table;  /* [batch, entries]: the blocks of each row */
    /* For int8 and float8: float32 [batch, tokens, heads] or [blocks, block_size, heads], or one dimension more, the
     * groups of lanes that share a scale; given scales may also be a single number. Block-scaled formats have groups:
     * MXFP8 and MXFP4 are float8 and float4 with scales in float8_e8m0, of 32 lanes each in OCP MX; NVFP4 is float4
     * with scales in float8_e4m3 of 16 lanes. */
    const cordage_tensor* scales;
    int32_t scales_are_given; /* 0: scales are computed when storing; 1: they are read; only 0 for scales of one byte */
    int64_t hadamard_size;    /* lanes of a Hadamard transform before storing, a power of two; 0: none */
    int32_t scales_round_up;  /* float8_e8m0: 0: down, as OCP MX; 1: up, so that no lane saturates */
    float scale_least;        /* float8_e8m0: a group's largest magnitude counts as at least this */
    float tensor_scale;       /* NVFP4: x = tensor_scale * scale * code; 0: 1 */
} cordage_heads;

/* RMSNorm of each head, in the same pass. */
typedef struct cordage_norm {
    cordage_tensor weight; /* [head_dim], or [heads, head_dim] over all heads; float32, float16, bfloat16, or float64
                            * for float64 heads; all zero: none */
    double epsilon;        /* 1e-6 in most models */
    int32_t adds_one;      /* the factor is 1 + weight */
    int32_t is_over_all_heads; /* one mean for all heads of a token */
    int32_t is_after_rotation;
    int32_t is_rounded_between; /* round to x's type between norm and rotation */
} cordage_norm;

/* One tensor of a call: x is read, y is written. float64 stays float64; other types convert to any format. */
typedef struct cordage_operand {
    cordage_heads x;
    cordage_heads y;          /* all zero: x is overwritten */
    const cordage_norm* norm; /* may be NULL; cordage_rotate_forward only */
    int64_t first_lane;       /* first rotated lane of a head; not read if is_unrotated */
    int32_t is_unrotated;     /* 1: copied without rotation, for v */
} cordage_operand;

/* How the slices of a call are run: by a pool of the caller's, whose run calls body(data, 0) ... body(data, count - 1),
 * from any threads, and returns when all have returned; or, if run is NULL, by the calling thread and `concurrency` - 1
 * threads of the library, which persist. A NULL executor is the calling thread. */
typedef struct cordage_executor {
    void (*run)(void* pool, int64_t count, void (*body)(void* data, int64_t i), void* data);
    void* pool;
    int64_t concurrency; /* >= 1 */
} cordage_executor;

/* Rotates the operands of one call, up to 64, by the same angles; lanes that are not rotated are copied:
 *
 *   y0 = m (x0 cos a - x1 sin a),  y1 = m (x0 sin a + x1 cos a)      of each pair, m the attention factor
 *
 * Operands have the same batch and tokens. Memory that one operand writes must not be read or written by another.
 * Arithmetic is in float32 (float64 for float64), rounded once. */
CORDAGE_C_API cordage_status cordage_rotate_forward(const cordage_executor* where, const cordage_angles* angles,
                                                    int32_t pairing, const cordage_operand* operands, int64_t count);
/* Undoes cordage_rotate_forward: x = R(-a) y / m. */
CORDAGE_C_API cordage_status cordage_rotate_inverse(const cordage_executor* where, const cordage_angles* angles,
                                                    int32_t pairing, const cordage_operand* operands, int64_t count);
/* Rotates cached keys by a difference of angles, in place or into other slots, in the order in which they are listed.
 * Quantised keys that are not rotated keep their bytes. */
CORDAGE_C_API cordage_status cordage_rebase(const cordage_executor* where, const cordage_angles* difference,
                                            int32_t pairing, const cordage_operand* operands, int64_t count);

/* One operand of the backward pass; its tensors have one type: float32, float64, float16 or bfloat16. */
typedef struct cordage_backward_operand {
    cordage_tensor grad_y;
    cordage_tensor y;         /* output of the forward pass; with a norm its input x; all zero: only grad_x is made */
    cordage_tensor grad_x;    /* written; may be grad_y or y */
    const cordage_norm* norm; /* that of the forward pass */
    double* grad_weight;      /* added to, one for each weight of the norm; NULL: not computed */
    int64_t grad_weight_count;
    int64_t first_lane;   /* not read if is_unrotated */
    int32_t is_unrotated; /* only with a norm */
} cordage_backward_operand;

/* Gradients to frequencies, positions and factors, dense, added to; NULL: not computed. */
typedef struct cordage_gradients {
    double* inv_freq; /* [bases, pairs] */
    int64_t inv_freq_count;
    double* position_ids; /* [axes, batch, tokens] */
    int64_t position_ids_count;
    double* attention_factor; /* [bases] */
    int64_t attention_factor_count;
} cordage_gradients;

/* grad_x = m R(-a) grad_y, and in the same pass the gradients to frequencies, positions, attention factor and weights;
 * the same bits for any number of threads. gradients: may be NULL. */
CORDAGE_C_API cordage_status cordage_rotate_backward(const cordage_executor* where, const cordage_angles* angles,
                                                     int32_t pairing, const cordage_gradients* gradients,
                                                     const cordage_backward_operand* operands, int64_t count);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-using) */

#ifdef CORDAGE_C_IMPLEMENTATION
#include "cordage/c/functions.hpp"
#endif

#endif
