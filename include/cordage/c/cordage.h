/* SPDX-License-Identifier: MIT */
/* cordage from C, and from all that speaks C: rules of models, bases, angles, and the rotation of q and k (C99).
 *
 *   cordage_rule *rule;      what a config.json says of a model's rotation
 *   cordage_basis *basis;    its frequencies at a length
 *   cordage_angles *angles;  of the positions of a batch; made once for all layers
 *   cordage_operand qk[2] = {{.x = {cordage_dense(q, CORDAGE_FLOAT32, 1, tokens, heads, head_dim)}},
 *                            {.x = {cordage_dense(k, CORDAGE_FLOAT32, 1, tokens, kv_heads, head_dim)}}};
 *   if (cordage_rule_from_file(CORDAGE_ABI, "config.json", NULL, NULL, &rule) ||
 *       cordage_basis_at_length(rule, 131072, &basis) ||
 *       cordage_angles_create((const cordage_basis *const[]){basis}, 1, &position_ids, NULL, &angles) ||
 *       cordage_rotate_forward(NULL, angles, CORDAGE_HALF_SPLIT, qk, 2))
 *       fprintf(stderr, "%s\n", cordage_last_error());
 *
 * Link the library that the CMake target cordage::c makes (docs/c_api.md), or compile the implementation in one C++20
 * unit of your own:
 *
 *   #define CORDAGE_C_IMPLEMENTATION
 *   #include <cordage/c/cordage.h>
 *
 * Every function but those that return a text gives a status, CORDAGE_OK = 0 or what kind of error it was, and then
 * cordage_last_error() is its message: function, argument, value, and what it must be. A call that fails has written
 * nothing, but for CORDAGE_OUT_OF_MEMORY. Nothing is thrown, nothing is printed.
 *
 * Handles are names, not addresses: one that is NULL, was destroyed, or is of another kind is an error. What is made of
 * a handle keeps what it needs, so that handles are destroyed in any order. All functions may be called by any number
 * of threads at once, with the same handles too. A struct whose fields are not named is zero: write {.x = ...}, or
 * memset.
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

/* The version of these declarations. The functions that make the first handles take it, and refuse another one. */
#define CORDAGE_ABI 1

/* What a function returns. */
typedef int32_t cordage_status;
enum {
    CORDAGE_OK = 0,
    CORDAGE_VALUE_ERROR = 1,   /* a number, name, handle or setting outside of its domain */
    CORDAGE_SHAPE_ERROR = 2,   /* sizes, strides or tensors that do not fit each other */
    CORDAGE_OUT_OF_MEMORY = 3, /* tensors may have been written partly */
    CORDAGE_OTHER_ERROR = 4
};

/* The message of the calling thread's last call that failed, of at most 1023 bytes; "" before. Valid until the thread's
 * next failure. */
CORDAGE_C_API const char* cordage_last_error(void);
/* CORDAGE_ABI of the library, and its version, "0.1.0". */
CORDAGE_C_API int32_t cordage_abi(void);
CORDAGE_C_API const char* cordage_version(void);

/* The instruction set whose kernels run: "avx512", "avx2", "baseline", or "native" where the implementation is a unit
 * of the caller's. The best that the library and the processor have, unless another one is selected. */
CORDAGE_C_API const char* cordage_kernels(void);
/* Selects kernels by that name, for all threads; "best" goes back. Refuses what this processor or library lacks.
 * The numbers of two instruction sets differ by rounding. */
CORDAGE_C_API cordage_status cordage_select_kernels(const char* name);

/* Tensors -------------------------------------------------------------------------------------------------------- */

/* What a tensor is of. q8_0 and q4_0 are ggml's blocks of 32 lanes. */
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
    CORDAGE_INT64 = 11
};

/* Elements of the caller's. Sizes slowest first; strides count elements, and all of them 0 means that the tensor is
 * dense. Of q8_0 and q4_0 sizes count lanes, and strides blocks. */
typedef struct cordage_tensor {
    void* data;
    int32_t dtype;
    int32_t ndim; /* 1 to 5 */
    int64_t shape[5];
    int64_t strides[5];
    int32_t is_read_only; /* 1: a call that would write it is refused */
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

/* The tensor of a DLTensor (dlpack.h, DLPack 1.x) in memory of the host. Copies nothing, and takes no ownership: the
 * DLTensor's owner keeps it alive. With dl_managed a DLManagedTensorVersioned, whose read-only flag is kept. */
CORDAGE_C_API cordage_status cordage_tensor_from_dlpack(const void* dl_tensor, cordage_tensor* tensor);
CORDAGE_C_API cordage_status cordage_tensor_from_dlpack_managed(const void* dl_managed, cordage_tensor* tensor);

/* Rules, bases, angles ------------------------------------------------------------------------------------------- */

typedef struct cordage_rule cordage_rule;
typedef struct cordage_basis cordage_basis;
typedef struct cordage_angles cordage_angles;

/* Which lanes of a head make pairs: i and i + rotary_dim/2, or 2i and 2i + 1. There is no default. */
enum { CORDAGE_HALF_SPLIT = 1, CORDAGE_INTERLEAVED = 2 };

/* What the text of a config.json says of the rotation of a model, in any spelling that docs/config_keys.md knows; a key
 * that is unknown there is an error.
 * layer_type: of which layers, as the config names them; NULL where all are alike. */
CORDAGE_C_API cordage_status cordage_rule_from_config(int32_t abi, const char* config, const char* layer_type,
                                                      cordage_rule** rule);
/* The same of a file. checkpoint: NULL, or the weights of a CLEX (safetensors: a file, an index or a folder), whose
 * layers, where each has its own, are layer_type "layer 0" and so on. A CLEX without its weights is refused. */
CORDAGE_C_API cordage_status cordage_rule_from_file(int32_t abi, const char* path, const char* checkpoint,
                                                    const char* layer_type, cordage_rule** rule);

/* Which factor frequencies get at a length ratio t, and which t a length has (docs/scaling_policies.md). */
enum { CORDAGE_UNSCALED = 1, CORDAGE_LINEAR = 2, CORDAGE_NTK_AWARE = 3, CORDAGE_YARN = 4, CORDAGE_LLAMA3 = 5 };
enum { CORDAGE_FIXED = 1, CORDAGE_CONTINUOUS = 2, CORDAGE_DYNAMIC = 3 };

/* A rule in numbers. */
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

/* What a rule says beside its frequencies. A caller that ignores query_beta, axes or first_lane of a model that has
 * them rotates it wrongly, and so does one that ignores turns_back. */
typedef struct cordage_rule_info {
    int64_t head_dim;
    int64_t rotary_dim;
    int64_t first_lane; /* where the rotated lanes begin in a head */
    double theta_base;
    double original_length;
    int32_t pairing;    /* 0: not known of this family */
    int32_t axes;       /* of positions; 1, but for M-RoPE */
    int32_t turns_back; /* 1: by the negative angle: cordage_rotate_inverse where others take cordage_rotate_forward */
    double query_beta;  /* query temperature 1 + beta ln(1 + floor(position / original_length)); 0: none */
} cordage_rule_info;
CORDAGE_C_API cordage_status cordage_rule_get_info(const cordage_rule* rule, cordage_rule_info* info);
/* The axis of each pair, [rotary_dim/2]; `pairs` is how many fit. */
CORDAGE_C_API cordage_status cordage_rule_get_axes(const cordage_rule* rule, uint8_t* axis_of_pair, int64_t pairs);

/* The frequencies for a sequence of that many tokens, and those at a length ratio t >= 1. */
CORDAGE_C_API cordage_status cordage_basis_at_length(const cordage_rule* rule, double length, cordage_basis** basis);
CORDAGE_C_API cordage_status cordage_basis_at_ratio(const cordage_rule* rule, double t, cordage_basis** basis);
/* From numbers: inv_freq [pairs], radians a position; attention_factor multiplies cos and sin. */
CORDAGE_C_API cordage_status cordage_basis_from_numbers(int32_t abi, const double* inv_freq, int64_t pairs,
                                                        double attention_factor, cordage_basis** basis);

typedef struct cordage_basis_info {
    int64_t pairs; /* rotary_dim / 2 */
    double attention_factor;
    uint64_t fingerprint; /* of all its numbers, to tag the blocks of a cache */
} cordage_basis_info;
CORDAGE_C_API cordage_status cordage_basis_get_info(const cordage_basis* basis, cordage_basis_info* info);
CORDAGE_C_API cordage_status cordage_basis_get_inv_freq(const cordage_basis* basis, double* inv_freq, int64_t pairs);

/* What most models do without. */
typedef struct cordage_angle_options {
    const cordage_tensor* basis_of_token; /* int32 [tokens] or [batch, tokens], dense: the basis of each token */
    const uint8_t* axis_of_pair; /* [pairs]: M-RoPE; positions are then [axes, tokens] or [axes, batch, tokens] */
    int32_t rounds_to_float32;   /* 1: float32's angles as other code has them, off by 7e-3 at position 10^5 */
} cordage_angle_options;

/* The angles of positions, exact up to 2^31. They keep cos and sin, so that the layers of a model share one handle.
 * bases:         one, or one for each row of the batch, or those that basis_of_token names
 * position_ids:  int32, int64, float32 or float64, [tokens] or [batch, tokens]; any sign, any stride
 * options:       or NULL */
CORDAGE_C_API cordage_status cordage_angles_create(const cordage_basis* const* bases, int64_t count,
                                                   const cordage_tensor* position_ids,
                                                   const cordage_angle_options* options, cordage_angles** angles);
/* The angles that turn keys of `from` into keys of `to`, exactly: for cordage_rebase. */
CORDAGE_C_API cordage_status cordage_angles_difference(const cordage_angles* to, const cordage_angles* from,
                                                       cordage_angles** difference);

/* NULL is ignored, as free does. */
CORDAGE_C_API cordage_status cordage_rule_destroy(cordage_rule* rule);
CORDAGE_C_API cordage_status cordage_basis_destroy(cordage_basis* basis);
CORDAGE_C_API cordage_status cordage_angles_destroy(cordage_angles* angles);

/* Rotations ------------------------------------------------------------------------------------------------------ */

/* A tensor of heads, in order or in the slots of a cache, and how it is stored (docs/cache_path.md). */
typedef struct cordage_heads {
    /* [tokens, heads, head_dim] or [batch, tokens, heads, head_dim]; of a cache [blocks, block_size, heads, head_dim].
     * Strides in any order, the last 1. Five sizes, [.., heads, groups, lanes of a group], are a head in groups, as in
     * vLLM's packed keys. */
    cordage_tensor tensor;
    /* Where tokens are in slots of a cache, one of these, int32 or int64; -1 leaves out. */
    const cordage_tensor* slot_mapping; /* [tokens] or [batch, tokens]: the slot of each token */
    const cordage_tensor* block_table;  /* [batch, entries]: the blocks of each row */
    /* Of int8 and float8: float32 [batch, tokens, heads] or [blocks, block_size, heads], or a size more, the groups of
     * lanes that share a scale; where they are given, one number alone too. */
    const cordage_tensor* scales;
    int32_t scales_are_given; /* 0: a scale is made of what is stored; 1: it is read */
    int64_t hadamard_size;    /* lanes of a Hadamard transform before the store, a power of two; 0: none */
} cordage_heads;

/* RMSNorm of each head, in the same pass. */
typedef struct cordage_norm {
    cordage_tensor weight; /* [head_dim], or [heads, head_dim] over all heads; float32, float16, bfloat16, or float64
                            * of float64 heads; data NULL: none */
    double epsilon;        /* of most models 1e-6 */
    int32_t adds_one;      /* the factor is 1 + weight */
    int32_t is_over_all_heads; /* one mean for all heads of a token */
    int32_t is_after_rotation;
    int32_t is_rounded_between; /* rounded to x's type between norm and rotation */
} cordage_norm;

/* One tensor of a call: x is read, y is written. float64 goes to float64; all else into any format. */
typedef struct cordage_operand {
    cordage_heads x;
    cordage_heads y;          /* left zero: x is overwritten */
    const cordage_norm* norm; /* or NULL; of cordage_rotate_forward alone */
    int64_t first_lane;       /* of the rotated lanes of a head */
    int32_t is_unrotated;     /* 1: v on its way into a cache */
} cordage_operand;

/* Who runs a call's slices: a pool of the caller's, whose run calls body(data, 0) ... body(data, count - 1), from any
 * threads, and returns when all have returned; or, where run is NULL, the calling thread and `concurrency` - 1 others
 * of the library's, which live on. A NULL executor is the calling thread. */
typedef struct cordage_executor {
    void (*run)(void* pool, int64_t count, void (*body)(void* data, int64_t i), void* data);
    void* pool;
    int64_t concurrency; /* >= 1 */
} cordage_executor;

/* Rotates the operands of one call, up to 64 of them, by the same angles; the lanes that are not rotated are copied:
 *
 *   y0 = m (x0 cos a - x1 sin a),  y1 = m (x0 sin a + x1 cos a)      of each pair, m the attention factor
 *
 * Operands share batch and tokens. What one writes, no other may read or write. Arithmetic in float32 (float64 of
 * float64), rounded once. */
CORDAGE_C_API cordage_status cordage_rotate_forward(const cordage_executor* where, const cordage_angles* angles,
                                                    int32_t pairing, const cordage_operand* operands, int64_t count);
/* Undoes it: x = R(-a) y / m. */
CORDAGE_C_API cordage_status cordage_rotate_inverse(const cordage_executor* where, const cordage_angles* angles,
                                                    int32_t pairing, const cordage_operand* operands, int64_t count);
/* Turns cached keys by a difference of angles, where they lie or into other slots, in the order in which they are
 * listed. Quantised keys that nothing turns keep their bytes. */
CORDAGE_C_API cordage_status cordage_rebase(const cordage_executor* where, const cordage_angles* difference,
                                            int32_t pairing, const cordage_operand* operands, int64_t count);

/* One tensor of the backward pass, all of one type, float32, float64, float16 or bfloat16. */
typedef struct cordage_backward_operand {
    cordage_tensor grad_y;
    cordage_tensor y; /* what the forward pass wrote; with a norm x, what it read; left zero: grad_x alone is wanted */
    cordage_tensor grad_x;    /* written; may be grad_y or y */
    const cordage_norm* norm; /* the forward's */
    double* grad_weight;      /* added to: as many as the norm has weights; NULL: not wanted */
    int64_t grad_weight_count;
    int64_t first_lane;
    int32_t is_unrotated; /* beside a norm */
} cordage_backward_operand;

/* Gradients behind the angles, dense, added to; NULL: not wanted. */
typedef struct cordage_gradients {
    double* inv_freq; /* [bases, pairs] */
    int64_t inv_freq_count;
    double* position_ids; /* [axes, batch, tokens] */
    int64_t position_ids_count;
    double* attention_factor; /* [bases] */
    int64_t attention_factor_count;
} cordage_gradients;

/* grad_x = m R(-a) grad_y, and in the same pass what flows to frequencies, positions, attention factor and weights; the
 * same bits for any number of threads. gradients: or NULL. */
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
