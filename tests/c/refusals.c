/* SPDX-License-Identifier: MIT */
/* What the C interface refuses: each call fails with its status and a message that says why, and writes nothing. */
#include <cordage/c/cordage.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 3, HEADS = 2, HEAD_DIM = 64, NUMBERS = TOKENS * HEADS * HEAD_DIM };

static float x[2 * NUMBERS], before[2 * NUMBERS];
static int failures, refused;

/* A call must have failed with this status and a message with these words, and x must be as it was. */
static void expect(int line, cordage_status status, cordage_status wanted, const char *words) {
    ++refused;
    if (status != wanted || strstr(cordage_last_error(), words) == NULL) {
        ++failures;
        printf("refusals.c:%d: status %d, \"%s\"; wanted %d, \"%s\"\n", line, (int)status, cordage_last_error(),
               (int)wanted, words);
    }
    if (memcmp(x, before, sizeof x) != 0) {
        ++failures;
        printf("refusals.c:%d: something was written\n", line);
        memcpy(x, before, sizeof x);
    }
}
#define REFUSES_VALUE(call, words) expect(__LINE__, (call), CORDAGE_VALUE_ERROR, (words))
#define REFUSES_SHAPE(call, words) expect(__LINE__, (call), CORDAGE_SHAPE_ERROR, (words))
#define WORKS(call)                                                                                \
    do {                                                                                           \
        if ((call) != CORDAGE_OK) {                                                                \
            ++failures;                                                                            \
            printf("refusals.c:%d: \"%s\" must be no error\n", __LINE__, cordage_last_error());    \
        }                                                                                          \
    } while (0)

static cordage_operand operand_of(float *data) {
    cordage_operand o;
    memset(&o, 0, sizeof o);
    o.x.tensor = cordage_dense(data, CORDAGE_FLOAT32, 1, TOKENS, HEADS, HEAD_DIM);
    return o;
}

/* Handles of each kind, made once. */
static cordage_rule *rule;
static cordage_basis *basis;
static cordage_angles *angles;
static const double inv_freq[HEAD_DIM / 2] = {1.0, 0.5, 0.25};
static int64_t ids[TOKENS] = {5, 6, 7};

static cordage_tensor positions(void) {
    cordage_tensor t = {ids, CORDAGE_INT64, 1, {TOKENS, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, 0};
    return t;
}

static void refuses_rules_and_bases(void) {
    cordage_rule_numbers n = {64, 64, 10000.0, 4096.0, CORDAGE_YARN, CORDAGE_CONTINUOUS, 1.0};
    cordage_model *m = NULL;
    cordage_model_info of_model;
    cordage_rule *r = NULL;
    cordage_basis *b = NULL;
    cordage_rule_info info;
    cordage_basis_info basis_info;
    double numbers[4];
    uint8_t axes[4];
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI + 1, &n, &r), "abi 3 must be 2");
    REFUSES_VALUE(cordage_rule_from_config(0, "{}", NULL, &r), "abi 0 must be 2");
    REFUSES_VALUE(cordage_rule_from_file(-1, "config.json", NULL, NULL, &r), "abi -1 must be 2");
    REFUSES_VALUE(cordage_basis_from_numbers(7, inv_freq, 32, 1.0, &b), "abi 7 must be 2");
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI, NULL, &r), "cordage_rule_from_numbers: numbers must not be NULL");
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI, &n, NULL), "rule must not be NULL");
    n.policy = 77;
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI, &n, &r), "numbers.policy 77 must be");
    n.policy = CORDAGE_YARN;
    n.schedule = 0;
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI, &n, &r), "numbers.schedule 0 must be");
    n.schedule = CORDAGE_FIXED;
    n.factor = NAN;
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI, &n, &r), "numbers.factor nan must be finite");
    n.factor = 0.5;
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI, &n, &r), "numbers.factor 0.5 must be finite and >= 1");
    n.factor = 1.0;
    n.rotary_dim = 63;
    REFUSES_VALUE(cordage_rule_from_numbers(CORDAGE_ABI, &n, &r), "rotary_dim 63 must be even");
    REFUSES_VALUE(cordage_rule_from_config(CORDAGE_ABI, NULL, NULL, &r), "config must not be NULL");
    REFUSES_VALUE(cordage_rule_from_config(CORDAGE_ABI, "{", NULL, &r), "hf::read_config");
    REFUSES_VALUE(cordage_rule_from_config(CORDAGE_ABI,
                                           "{\"model_type\":\"llama\",\"hidden_size\":256,\"num_attention_heads\":4,"
                                           "\"max_position_embeddings\":4096,\"rope_thetta\":1e4}",
                                           NULL, &r),
                  "'rope_thetta' must be a known key");
    REFUSES_VALUE(cordage_rule_from_config(CORDAGE_ABI,
                                           "{\"model_type\":\"llama\",\"hidden_size\":256,\"num_attention_heads\":4,"
                                           "\"max_position_embeddings\":4096,"
                                           "\"rope_scaling\":{\"type\":\"clex\",\"max_factor\":16}}",
                                           NULL, &r),
                  "'clex' needs its weights");
    REFUSES_VALUE(cordage_rule_from_file(CORDAGE_ABI, "/nowhere/config.json", NULL, NULL, &r), "must be a file, a folder, or a name");
    REFUSES_VALUE(cordage_basis_at_ratio(rule, 0.5, &b), "must be finite and >= 1");
    REFUSES_VALUE(cordage_basis_at_length(rule, -1.0, &b), "must be finite and >= 0");
    REFUSES_VALUE(cordage_basis_at_length(NULL, 1.0, &b), "cordage_basis_at_length: rule nullptr must be a handle");
    REFUSES_VALUE(cordage_model_from_file(CORDAGE_ABI, NULL, NULL, &m), "path must not be NULL");
    REFUSES_VALUE(cordage_model_from_file(CORDAGE_ABI, "/nowhere", NULL, NULL), "model must not be NULL");
    REFUSES_VALUE(cordage_model_from_file(CORDAGE_ABI, "/nowhere", NULL, &m), "must be a file, a folder, or a name");
    REFUSES_VALUE(cordage_model_get_info(NULL, &of_model), "model nullptr must be a handle");
    REFUSES_VALUE(cordage_rule_of_layer(NULL, 0, &r), "model nullptr must be a handle");
    REFUSES_VALUE(cordage_rule_of_indexer(NULL, 0, &r), "model nullptr must be a handle");
    REFUSES_VALUE(cordage_basis_from_numbers(CORDAGE_ABI, NULL, 32, 1.0, &b), "inv_freq must not be NULL");
    REFUSES_VALUE(cordage_basis_from_numbers(CORDAGE_ABI, inv_freq, 0, 1.0, &b), "pairs 0 must be");
    REFUSES_VALUE(cordage_basis_from_numbers(CORDAGE_ABI, inv_freq, 32, NAN, &b), "attention_factor nan must be");
    REFUSES_VALUE(cordage_rule_get_info(rule, NULL), "info must not be NULL");
    REFUSES_VALUE(cordage_rule_get_info((cordage_rule *)(void *)basis, &info), "is a handle of kind basis, must be of kind rule");
    REFUSES_VALUE(cordage_basis_get_info((cordage_basis *)(void *)x, &basis_info), "must be a handle of this library");
    REFUSES_SHAPE(cordage_basis_get_inv_freq(basis, numbers, 4), "pairs 4 must be rotary_dim/2 = 32");
    REFUSES_SHAPE(cordage_rule_get_axes(rule, axes, 4), "pairs 4 must be rotary_dim/2 = 32");
    WORKS(cordage_basis_from_numbers(CORDAGE_ABI, inv_freq, 32, 1.0, &b));
    WORKS(cordage_basis_destroy(b));
    WORKS(cordage_basis_destroy(NULL));
    REFUSES_VALUE(cordage_basis_destroy(b), "that has not been destroyed");
    REFUSES_VALUE(cordage_basis_get_info(b, &basis_info), "that has not been destroyed");
    if (r != NULL) {
        ++failures;
        printf("a handle was written by a call that failed\n");
    }
}

static void refuses_angles(void) {
    const cordage_basis *one[1];
    const cordage_basis *missing[1] = {NULL};
    cordage_tensor t = positions();
    cordage_angle_options options;
    cordage_angles *a = NULL;
    uint8_t axis_of_pair[32] = {0};
    double reals[TOKENS] = {1.0, 2.0, 3.0};
    int32_t index[TOKENS] = {0, 0, 1};
    cordage_tensor index_tensor = {index, CORDAGE_INT32, 1, {TOKENS, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, 0};
    one[0] = basis;
    memset(&options, 0, sizeof options);
    REFUSES_VALUE(cordage_angles_create(NULL, 1, &t, NULL, &a), "bases must not be NULL");
    REFUSES_VALUE(cordage_angles_create(missing, 1, &t, NULL, &a), "bases[0] nullptr must be a handle");
    REFUSES_VALUE(cordage_angles_create(one, 0, &t, NULL, &a), "count 0 of bases");
    REFUSES_VALUE(cordage_angles_create(one, 1, NULL, NULL, &a), "position_ids must not be NULL");
    REFUSES_VALUE(cordage_angles_create(one, 1, &t, NULL, NULL), "angles must not be NULL");
    t.dtype = CORDAGE_FLOAT16;
    REFUSES_VALUE(cordage_angles_create(one, 1, &t, NULL, &a), "position_ids.dtype 3 must be one of");
    t = positions();
    t.ndim = 6;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, NULL, &a), "position_ids.ndim 6 must be 1 to 2");
    t = positions();
    t.shape[0] = -1;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, NULL, &a), "position_ids.shape[0] -1 must not be negative");
    t = positions();
    t.strides[0] = -8;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, NULL, &a), "position_ids.strides[0] -8 must not be negative");
    t = positions();
    t.shape[0] = INT64_MAX;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, NULL, &a), "position_ids.shape[0] 9223372036854775807 must");
    t.shape[0] = INT64_MAX >> 6;
    t.strides[0] = INT64_MAX;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, NULL, &a), "must span at most 2^58");
    t = positions(); /* once, the failure of the copy was told, "vector::reserve" */
    t.ndim = 2;
    t.shape[0] = (int64_t)1 << 57;
    t.shape[1] = 2;
    t.strides[1] = 1;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, NULL, &a),
                  "[1, 144115188075855872, 2] must span at most 2^58 entries and have at most 2^48, since they are copied");
    t = positions();
    t.data = NULL;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, NULL, &a), "position_ids.data nullptr");
    t.data = (char *)ids + 1;
    REFUSES_VALUE(cordage_angles_create(one, 1, &t, NULL, &a), "must be a multiple of 8");
    t.data = reals;
    t.dtype = CORDAGE_FLOAT64;
    reals[1] = NAN;
    REFUSES_VALUE(cordage_angles_create(one, 1, &t, NULL, &a), "position_ids[0, 1] nan must be finite");
    t = positions();
    options.rounds_to_float32 = 2;
    REFUSES_VALUE(cordage_angles_create(one, 1, &t, &options, &a), "rounds_to_float32 2 must be 0 or 1");
    options.rounds_to_float32 = 0;
    options.basis_of_token = &index_tensor;
    REFUSES_VALUE(cordage_angles_create(one, 1, &t, &options, &a), "basis index of token [0, 2] 1 must be 0 to 0");
    options.basis_of_token = NULL;
    options.axis_of_pair = axis_of_pair;
    REFUSES_SHAPE(cordage_angles_create(one, 1, &t, &options, &a), "position_ids.ndim 1 must be 2 to 3");
    t.ndim = 2;
    t.shape[0] = 1;
    t.shape[1] = TOKENS;
    axis_of_pair[9] = 1;
    REFUSES_VALUE(cordage_angles_create(one, 1, &t, &options, &a), "axis_of_pair[9] 1 must be below");
    REFUSES_VALUE(cordage_angles_difference(angles, NULL, &a), "from nullptr must be a handle");
    if (a != NULL) {
        ++failures;
        printf("a handle was written by a call that failed\n");
    }
}

static void refuses_operands(void) {
    cordage_operand o = operand_of(x), two[2];
    cordage_norm norm;
    cordage_executor where = {NULL, NULL, 0};
    int32_t slots[TOKENS] = {0, 1, 99}, table[1] = {0};
    int8_t codes[NUMBERS] = {0};
    float scales[TOKENS * HEADS] = {1.0f, NAN, 1.0f, 1.0f, 1.0f, 1.0f};
    cordage_tensor slot_tensor = {slots, CORDAGE_INT32, 1, {TOKENS, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, 0};
    cordage_tensor block_tensor = {table, CORDAGE_INT32, 2, {1, 1, 0, 0, 0}, {0, 0, 0, 0, 0}, 0};
    const cordage_tensor byte_scales = {scales, CORDAGE_FLOAT8_E8M0, 4, {1, TOKENS, HEADS, 2, 0}, {0, 0, 0, 0, 0}, 0};
    cordage_tensor scale_tensor = {scales, CORDAGE_FLOAT32, 3, {1, TOKENS, HEADS, 0, 0}, {0, 0, 0, 0, 0}, 0};
    cordage_angles *gone = NULL;
    const cordage_basis *one[1];
    cordage_tensor t = positions();
#define FORWARD(operand) cordage_rotate_forward(NULL, angles, CORDAGE_HALF_SPLIT, &(operand), 1)
    memset(&norm, 0, sizeof norm);
    one[0] = basis;
    REFUSES_VALUE(cordage_rotate_forward(NULL, NULL, CORDAGE_HALF_SPLIT, &o, 1), "angles nullptr must be a handle");
    REFUSES_VALUE(cordage_rotate_forward(NULL, (cordage_angles *)(void *)rule, CORDAGE_HALF_SPLIT, &o, 1),
                  "angles is a handle of kind rule, must be of kind angles");
    WORKS(cordage_angles_create(one, 1, &t, NULL, &gone));
    WORKS(cordage_angles_destroy(gone));
    REFUSES_VALUE(cordage_rotate_forward(NULL, gone, CORDAGE_HALF_SPLIT, &o, 1), "that has not been destroyed");
    REFUSES_VALUE(cordage_rotate_forward(NULL, angles, 0, &o, 1), "pairing 0 must be CORDAGE_HALF_SPLIT");
    REFUSES_VALUE(cordage_rotate_inverse(NULL, angles, 9, &o, 1), "pairing 9 must be CORDAGE_HALF_SPLIT");
    REFUSES_VALUE(cordage_rotate_forward(NULL, angles, CORDAGE_HALF_SPLIT, NULL, 1), "operands must not be NULL");
    REFUSES_VALUE(cordage_rotate_forward(NULL, angles, CORDAGE_HALF_SPLIT, &o, 0), "count 0 of operands");
    REFUSES_VALUE(cordage_rotate_forward(&where, angles, CORDAGE_HALF_SPLIT, &o, 1), "where.concurrency 0 must be >= 1");
    REFUSES_VALUE(cordage_rebase(NULL, angles, CORDAGE_HALF_SPLIT, &o, 1), "difference must be made by cordage_angles_difference");
    o.x.tensor.dtype = 1000;
    REFUSES_VALUE(FORWARD(o), "operands[0].x.tensor.dtype 1000 must be one of");
    o.x.tensor.dtype = CORDAGE_INT64;
    REFUSES_VALUE(FORWARD(o), "operands[0].x.tensor.dtype 11 must be one of");
    o = operand_of(x);
    o.x.tensor.ndim = 2;
    REFUSES_SHAPE(FORWARD(o), "operands[0].x.tensor.ndim 2 must be 3 to 5");
    o = operand_of(x);
    o.x.tensor.is_read_only = 1;
    REFUSES_VALUE(FORWARD(o), "operands[0].x.tensor is read-only");
    o = operand_of(x);
    o.x.tensor.strides[3] = 2;
    REFUSES_SHAPE(FORWARD(o), "operands[0].x.tensor.strides[3] 2 must be 1: lanes must be dense");
    o.x.tensor.strides[3] = 1;
    o.x.tensor.strides[2] = -HEAD_DIM;
    REFUSES_SHAPE(FORWARD(o), "operands[0].x.tensor.strides[2] -64 must not be negative");
    o.x.tensor.strides[2] = HEAD_DIM / 2;
    o.x.tensor.strides[1] = HEADS * HEAD_DIM;
    REFUSES_SHAPE(FORWARD(o), "must not overlap itself");
    /* Once, a stride of 0 of the last axis was taken as dense, and lanes behind the tensor were read. */
    o = operand_of(x);
    o.x.tensor.strides[1] = HEADS;
    o.x.tensor.strides[2] = 1;
    o.y.tensor = cordage_dense(x + NUMBERS, CORDAGE_FLOAT32, 1, TOKENS, HEADS, HEAD_DIM);
    REFUSES_SHAPE(FORWARD(o), "operands[0].x.tensor.strides[3] 0 must be 1: lanes must be dense");
    o = operand_of(x);
    o.x.tensor.shape[1] = TOKENS - 1;
    REFUSES_SHAPE(FORWARD(o), "angles [1, 3] must be [1 or batch, tokens]");
    o = operand_of(x);
    o.x.tensor.shape[3] = HEAD_DIM / 2;
    REFUSES_SHAPE(FORWARD(o), "rotary_dim 64 must be <= head_dim 32");
    o = operand_of(x);
    o.x.tensor.data = NULL;
    REFUSES_SHAPE(FORWARD(o), "operands[0].x.tensor.data nullptr");
    o = operand_of(x);
    o.first_lane = 1;
    REFUSES_SHAPE(FORWARD(o), "first_lane 1 must be 0 to");
    o.first_lane = 0;
    o.is_unrotated = 5;
    REFUSES_VALUE(FORWARD(o), "operands[0].is_unrotated 5 must be 0 or 1");
    two[0] = operand_of(x);
    two[1] = operand_of(x + HEAD_DIM);
    REFUSES_SHAPE(cordage_rotate_forward(NULL, angles, CORDAGE_HALF_SPLIT, two, 2), "must not overlap where one of them is written");
    two[1] = operand_of(x + NUMBERS);
    two[1].x.tensor.shape[1] = TOKENS - 1;
    REFUSES_SHAPE(cordage_rotate_forward(NULL, angles, CORDAGE_HALF_SPLIT, two, 2), "");
    o = operand_of(x);
    o.y.tensor = cordage_dense(x + 1, CORDAGE_FLOAT32, 1, TOKENS, HEADS, HEAD_DIM);
    REFUSES_SHAPE(FORWARD(o), "operands[0].y must be operands[0].x itself or not overlap it");
    o.y.tensor = cordage_dense(x + NUMBERS, CORDAGE_FLOAT64, 1, TOKENS, HEADS, HEAD_DIM);
    REFUSES_VALUE(FORWARD(o), "converts float32 to float64");
    /* Once, fields of a y without a tensor were ignored, and x was overwritten. */
    o = operand_of(x);
    o.y.slot_mapping = &slot_tensor;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor must be given, as .y.slot_mapping is; all zero: x is overwritten");
    o = operand_of(x);
    o.y.block_table = &block_tensor;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor must be given, as .y.block_table is");
    o = operand_of(x);
    o.y.scales = &scale_tensor;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor must be given, as .y.scales is");
    o = operand_of(x);
    o.y.scales_are_given = 1;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor must be given, as .y.scales_are_given is");
    o = operand_of(x);
    o.y.hadamard_size = 8;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor must be given, as .y.hadamard_size is");
    o = operand_of(x);
    o.y.tensor = cordage_dense(NULL, 0, 1, TOKENS, HEADS, HEAD_DIM);
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor.dtype 0 must be one of 1 (float32)");
    o.y.tensor.dtype = CORDAGE_FLOAT32;
    REFUSES_SHAPE(FORWARD(o), "operands[0].y.tensor.data nullptr");
    o = operand_of(x);
    o.y.tensor.is_read_only = 1;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor.dtype 0 must be one of");
    /* norms */
    o = operand_of(x);
    o.norm = &norm;
    norm.epsilon = NAN;
    REFUSES_VALUE(FORWARD(o), "epsilon nan must be finite");
    norm.epsilon = 1e-6;
    norm.adds_one = 2;
    REFUSES_VALUE(FORWARD(o), "operands[0].norm.adds_one 2 must be 0 or 1");
    norm.adds_one = 0;
    norm.weight.data = scales;
    norm.weight.dtype = CORDAGE_FLOAT32;
    norm.weight.ndim = 1;
    norm.weight.shape[0] = HEAD_DIM - 1;
    REFUSES_SHAPE(FORWARD(o), "operands[0].norm.weight has 63 entries, must have [head_dim] = [64]");
    norm.weight.data = NULL; /* once, it was taken as no weights */
    REFUSES_SHAPE(FORWARD(o), "operands[0].norm.weight.data nullptr must point to the weights; all zero: the norm has none");
    norm.weight.data = scales;
    REFUSES_VALUE(cordage_rotate_inverse(NULL, angles, CORDAGE_HALF_SPLIT, &o, 1), "operands[0].norm must be NULL");
    /* slots, and caches */
    o = operand_of(x);
    o.y.tensor = cordage_dense(x + NUMBERS, CORDAGE_FLOAT32, 1, TOKENS, HEADS, HEAD_DIM);
    o.y.slot_mapping = &slot_tensor;
    REFUSES_VALUE(FORWARD(o), "slot [0, 2] 99 must be one of the cache's 3 slots");
    slots[2] = 0;
    REFUSES_VALUE(FORWARD(o), "must be listed once");
    slot_tensor.dtype = CORDAGE_FLOAT32;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.slot_mapping.dtype 1 must be one of");
    slot_tensor.dtype = CORDAGE_INT32;
    o.y.block_table = &block_tensor;
    REFUSES_VALUE(FORWARD(o), "operands[0].y has a slot_mapping and a block_table");
    o.y.slot_mapping = NULL;
    o.y.tensor.shape[0] = TOKENS;
    o.y.tensor.shape[1] = 1;
    REFUSES_SHAPE(FORWARD(o), "operands[0].y.block_table.shape[1] 1 must be at least the blocks of 3 tokens");
    o = operand_of(x);
    o.y.tensor = cordage_dense(codes, CORDAGE_INT8, 1, TOKENS, HEADS, HEAD_DIM);
    REFUSES_VALUE(FORWARD(o), "operands[0].y.scales nullptr must be given for int8");
    o.y.tensor.shape[1] = o.x.tensor.shape[1] = 0; /* no tokens: no scales */
    o.y.scales = &scale_tensor;
    {
        cordage_tensor no_ids = positions();
        cordage_angles *none = NULL;
        no_ids.shape[0] = 0;
        scale_tensor.data = NULL;
        scale_tensor.shape[1] = 0;
        WORKS(cordage_angles_create(one, 1, &no_ids, NULL, &none));
        WORKS(cordage_rotate_forward(NULL, none, CORDAGE_HALF_SPLIT, &o, 1));
        no_ids.ndim = 2; /* once, 2^50 rows without tokens took years */
        no_ids.shape[0] = (int64_t)1 << 48;
        no_ids.shape[1] = 0;
        WORKS(cordage_angles_destroy(none));
        WORKS(cordage_angles_create(one, 1, &no_ids, NULL, &none));
        WORKS(cordage_angles_destroy(none));
        scale_tensor.data = scales;
        scale_tensor.shape[1] = TOKENS;
    }
    o = operand_of(x); /* lanes that overflow */
    o.x.tensor.ndim = 5;
    o.x.tensor.shape[3] = o.x.tensor.shape[4] = (int64_t)1 << 40;
    REFUSES_SHAPE(FORWARD(o), "operands[0].x.tensor.shape has over 2^58 lanes in a head");
    o = operand_of(x); /* once ignored */
    o.x.scales_are_given = 1;
    REFUSES_VALUE(FORWARD(o), "operands[0].x.scales_are_given 1 must be 0 without scales");
    o = operand_of(x);
    o.y.tensor = cordage_dense(codes, CORDAGE_INT8, 1, TOKENS, HEADS, HEAD_DIM);
    o.y.scales = &scale_tensor;
    o.y.scales_are_given = 3;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.scales_are_given 3 must be 0 or 1");
    o.y.scales_are_given = 1;
    REFUSES_VALUE(FORWARD(o), "scale [0, 0, 1, 0] nan must be finite and not 0, and so must its inverse");
    scale_tensor.shape[2] = HEADS - 1;
    REFUSES_SHAPE(FORWARD(o), "operands[0].y.scales must be one number, or [1, 3, 2]");
    scale_tensor.shape[2] = HEADS;
    scale_tensor.ndim = 4; /* once, the stride 0 of its last axis too was taken as dense */
    scale_tensor.shape[3] = 4;
    scale_tensor.strides[1] = HEADS;
    scale_tensor.strides[2] = 1;
    REFUSES_SHAPE(FORWARD(o), "operands[0].y.scales.shape[3] 4 must divide head_dim 64 and have stride 1");
    scale_tensor.ndim = 3;
    scale_tensor.shape[3] = 0;
    scale_tensor.strides[1] = scale_tensor.strides[2] = 0;
    o.y.scales_are_given = 0;
    scale_tensor.data = x;
    o.y.hadamard_size = 48;
    REFUSES_SHAPE(FORWARD(o), "hadamard size 48 must be a power of two");
    o.y.hadamard_size = 0;
    o.x.scales = &scale_tensor;
    REFUSES_VALUE(FORWARD(o), "operands[0].x.scales must be NULL for float32");
    o.x.scales = NULL;
    REFUSES_SHAPE(FORWARD(o), "operands[0].y's scales [1, 3, 2, 1] must not overlap operands[0].x");
    scale_tensor.data = scales;
    scale_tensor.ndim = 1;
    scale_tensor.shape[0] = 1;
    REFUSES_SHAPE(FORWARD(o), "must not overlap each other: give their strides, or, to read one given scale, set scales_are_given = 1");
    /* scales of one byte */
    o = operand_of(x);
    o.y.tensor = cordage_dense(codes, CORDAGE_INT8, 1, TOKENS, HEADS, HEAD_DIM);
    scale_tensor = byte_scales;
    o.y.scales = &scale_tensor;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.scales.dtype 13 must be one of 1 (float32)");
    o.y.tensor.dtype = CORDAGE_FLOAT8_E8M0;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor.dtype 13 must be one of 1 (float32)");
    o.y.tensor.dtype = CORDAGE_FLOAT4_E2M1_X2;
    o.y.tensor_scale = 0.5f;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor_scale 0.5 must be 0 unless scales are in float8_e4m3");
    scale_tensor.dtype = CORDAGE_FLOAT8_E4M3;
    REFUSES_SHAPE(FORWARD(o), "operands[0].y.scales must have a fourth size, head_dim / 16 = 4");
    scale_tensor.shape[3] = 4;
    o.y.tensor_scale = -1.0f;
    REFUSES_VALUE(FORWARD(o), "operands[0].y's tensor_scale -1 must be positive and finite, and so must its inverse");
    o.y.tensor_scale = 0.0f;
    o.y.scales_round_up = 1;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.scales_round_up 1 must be 0, or 1 for scales in float8_e8m0");
    o.y.scales_round_up = 0;
    o.y.scale_least = 1.0f;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.scale_least 1 must be 0 unless scales are in float8_e8m0");
    o.y.scale_least = 0.0f;
    o.y.scales_are_given = 1;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.scales_are_given 1 must be 0 for scales of one byte");
    scale_tensor.dtype = CORDAGE_FLOAT8_E8M0;
    scale_tensor.data = x;
    o.y.scales_are_given = 0;
    o.y.scale_least = -1.0f;
    REFUSES_VALUE(FORWARD(o), "operands[0].y's least -1 must be finite and not negative");
    o.y.scale_least = 0.0f;
    REFUSES_SHAPE(FORWARD(o), "operands[0].y's scales [1, 3, 2, 4] must not overlap operands[0].x");
    o = operand_of(x);
    o.y.tensor_scale = 1.0f;
    REFUSES_VALUE(FORWARD(o), "operands[0].y.tensor must be given, as .y.tensor_scale is");
    o = operand_of(x);
    o.x.tensor.ndim = 5;
    o.x.tensor.shape[3] = 3000;
    o.x.tensor.shape[4] = 1;
    REFUSES_SHAPE(FORWARD(o), "");
}

static void refuses_gradients(void) {
    cordage_backward_operand o;
    cordage_gradients g;
    double sums[32] = {0};
    memset(&o, 0, sizeof o);
    memset(&g, 0, sizeof g);
    o.grad_y = cordage_dense(x, CORDAGE_FLOAT32, 1, TOKENS, HEADS, HEAD_DIM);
    o.grad_x = o.grad_y;
    g.inv_freq = sums;
    g.inv_freq_count = 32;
#define BACKWARD() cordage_rotate_backward(NULL, angles, CORDAGE_HALF_SPLIT, &g, &o, 1)
    REFUSES_VALUE(BACKWARD(), "operands[0].y must be given if gradients are wanted");
    o.y = cordage_dense(x + NUMBERS, CORDAGE_FLOAT32, 1, TOKENS, HEADS, HEAD_DIM);
    g.inv_freq_count = 31;
    REFUSES_SHAPE(BACKWARD(), "inv_freq has 31 entries, must have rotary_dim/2 = 32");
    g.inv_freq_count = -1;
    REFUSES_VALUE(BACKWARD(), "gradients.inv_freq_count -1");
    g.inv_freq = NULL;
    g.inv_freq_count = 0;
    o.y.data = NULL; /* once, a y without dtype and data was taken as none */
    REFUSES_SHAPE(BACKWARD(), "operands[0].y.data nullptr");
    o.y.dtype = 0;
    REFUSES_VALUE(BACKWARD(), "operands[0].y.dtype 0 must be one of 1 (float32)");
    o.y.data = x + NUMBERS;
    g.position_ids = sums;
    REFUSES_VALUE(BACKWARD(), "gradients.position_ids_count 0 must be the number of entries of position_ids");
    g.position_ids = NULL;
    o.y.dtype = CORDAGE_BFLOAT16;
    REFUSES_VALUE(BACKWARD(), "operands[0].y.dtype 4 must be one of 1 (float32)");
    o.y.dtype = CORDAGE_FLOAT32;
    o.grad_weight = sums;
    o.grad_weight_count = 32;
    REFUSES_VALUE(BACKWARD(), "operands[0].grad_weight must be NULL without a norm");
    o.grad_weight = NULL;
    o.grad_weight_count = 0;
    o.is_unrotated = 1;
    REFUSES_VALUE(BACKWARD(), "is_unrotated 1 must be 0, or 1 with a norm");
    o.is_unrotated = 0;
    o.grad_x.data = x + 1;
    REFUSES_SHAPE(BACKWARD(), "operands[0].grad_x must be operands[0].grad_y itself or not overlap it");
    o.grad_x.data = x;
    o.grad_x.is_read_only = 1;
    REFUSES_VALUE(BACKWARD(), "operands[0].grad_x is read-only");
    REFUSES_VALUE(cordage_rotate_backward(NULL, NULL, CORDAGE_HALF_SPLIT, &g, &o, 1), "angles nullptr");
}

static void refuses_the_rest(void) {
    struct { /* a DLTensor */
        void *data;
        int32_t device_type, device_id, ndim;
        uint8_t code, bits;
        uint16_t lanes;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } t = {x, 2, 0, 1, 2, 32, 1, NULL, NULL, 0};
    struct { /* the beginning of a DLManagedTensorVersioned */
        uint32_t major, minor;
        uint64_t others[15];
    } managed = {2, 3, {0}};
    int64_t shape[1] = {3}, strides[1] = {0};
    cordage_tensor out;
    REFUSES_VALUE(cordage_tensor_from_dlpack(NULL, &out), "dl_tensor must not be NULL");
    REFUSES_VALUE(cordage_tensor_from_dlpack(&t, &out), "device_type 2 (CUDA) must be 1 (CPU)");
    t.device_type = 1;
    REFUSES_SHAPE(cordage_tensor_from_dlpack(&t, &out), "shape nullptr");
    t.shape = shape;
    t.strides = strides;
    REFUSES_SHAPE(cordage_tensor_from_dlpack(&t, &out), "strides must not all be 0");
    t.strides = NULL;
    t.byte_offset = UINT64_MAX - 7; /* once, it wrapped around */
    REFUSES_VALUE(cordage_tensor_from_dlpack(&t, &out), "+ byte_offset 18446744073709551608 must be an address");
    t.byte_offset = 0;
    WORKS(cordage_tensor_from_dlpack(&t, &out));
    t.bits = 24;
    REFUSES_VALUE(cordage_tensor_from_dlpack(&t, &out), "of type float24 must be");
    REFUSES_VALUE(cordage_tensor_from_dlpack_managed(&managed, &out), "dl_managed.version 2.3 must be 1.x");
    REFUSES_VALUE(cordage_select_kernels("avx1024"), "name 'avx1024' must be one that this");
    REFUSES_VALUE(cordage_select_kernels(NULL), "name must not be NULL");
}

/* Nothing to do is no error. */
static void takes_empty_calls(void) {
    const cordage_basis *one[1];
    cordage_tensor t = positions();
    cordage_angles *none = NULL;
    cordage_operand o = operand_of(NULL);
    cordage_backward_operand b;
    cordage_gradients g;
    double sum = 0.0;
    one[0] = basis;
    t.data = NULL;
    t.shape[0] = 0;
    o.x.tensor.shape[1] = 0;
    WORKS(cordage_angles_create(one, 1, &t, NULL, &none));
    WORKS(cordage_rotate_forward(NULL, none, CORDAGE_HALF_SPLIT, &o, 1));
    memset(&b, 0, sizeof b);
    memset(&g, 0, sizeof g);
    b.grad_y = b.y = b.grad_x = o.x.tensor;
    g.position_ids = &sum; /* once, no entries were taken only with NULL */
    WORKS(cordage_rotate_backward(NULL, none, CORDAGE_HALF_SPLIT, &g, &b, 1));
    b.grad_y.shape[0] = b.y.shape[0] = b.grad_x.shape[0] = 0;
    b.grad_y.shape[1] = b.y.shape[1] = b.grad_x.shape[1] = TOKENS;
    WORKS(cordage_rotate_backward(NULL, angles, CORDAGE_HALF_SPLIT, &g, &b, 1));
    o = operand_of(NULL);
    o.x.tensor.shape[2] = 0;
    WORKS(cordage_rotate_forward(NULL, angles, CORDAGE_INTERLEAVED, &o, 1));
    WORKS(cordage_angles_destroy(none));
}

int main(void) {
    const cordage_rule_numbers n = {64, 64, 10000.0, 4096.0, CORDAGE_LINEAR, CORDAGE_CONTINUOUS, 1.0};
    const cordage_basis *one[1];
    cordage_tensor t = positions();
    int i;
    for (i = 0; i < 2 * NUMBERS; ++i) x[i] = before[i] = (float)(i % 11) - 5.0f;
    if (cordage_last_error()[0] != '\0') return 2;
    if (cordage_rule_from_numbers(CORDAGE_ABI, &n, &rule) != CORDAGE_OK) return 2;
    if (cordage_basis_at_ratio(rule, 1.0, &basis) != CORDAGE_OK) return 2;
    one[0] = basis;
    if (cordage_angles_create(one, 1, &t, NULL, &angles) != CORDAGE_OK) return 2;
    refuses_rules_and_bases();
    refuses_angles();
    refuses_operands();
    refuses_gradients();
    refuses_the_rest();
    takes_empty_calls();
    WORKS(cordage_angles_destroy(angles));
    WORKS(cordage_basis_destroy(basis));
    WORKS(cordage_rule_destroy(rule));
    printf("kernels %s: %d calls were refused, %d of them or of what must work otherwise than expected\n",
           cordage_kernels(), refused, failures);
    return failures == 0 ? 0 : 1;
}
