// SPDX-License-Identifier: MIT
// Graphs of ggml with its own rope operation and with cordage's, for q and k and for cached keys that move: both
// results compared with exact ones, and their times. test_ggml.py builds it with ggml's headers and libraries. Exits
// with 1 if they disagree.
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "cordage/host/ggml/key_shift.hpp"

namespace gg = cordage::ggml;

static_assert(gg::normal == GGML_ROPE_TYPE_NORMAL && gg::neox == GGML_ROPE_TYPE_NEOX &&
              gg::mrope == GGML_ROPE_TYPE_MROPE && gg::vision == GGML_ROPE_TYPE_VISION &&
              gg::imrope == GGML_ROPE_TYPE_IMROPE);
static_assert(gg::detail::type_of<float>() == GGML_TYPE_F32 && gg::detail::type_of<double>() == GGML_TYPE_F64 &&
              gg::detail::type_of<cordage::float16>() == GGML_TYPE_F16 &&
              gg::detail::type_of<cordage::bfloat16>() == GGML_TYPE_BF16 &&
              gg::detail::type_of<cordage::q8_0_block>() == GGML_TYPE_Q8_0 &&
              gg::detail::type_of<cordage::q4_0_block>() == GGML_TYPE_Q4_0 &&
              gg::detail::type_of<std::int32_t>() == GGML_TYPE_I32);

namespace {

constexpr int head_dim = 128;

struct trial {
    const char* name;
    gg::rope_arguments arguments;
    bool has_factors;
    ggml_type type;
};

/// One graph's tensors; `work` is the result.
class graph {
 public:
    graph(int heads, int tokens, ggml_type type, int positions_a_token)
        : context_(ggml_init({std::size_t{64} << 20, nullptr, false})) {
        x = ggml_new_tensor_3d(context_, type, head_dim, heads, tokens);
        positions = ggml_new_tensor_1d(context_, GGML_TYPE_I32, std::int64_t{tokens} * positions_a_token);
    }
    graph(const graph&) = delete;
    ~graph() { ggml_free(context_); }

    ggml_tensor* with_ggml(const gg::rope_arguments& a, ggml_tensor* factors) {
        int sections[4];
        std::ranges::copy(a.sections, sections);
        return gg::has_axes(a.mode)
                   ? ggml_rope_multi(context_, x, positions, factors, a.n_dims, sections, a.mode, a.n_ctx_orig,
                                     a.freq_base, a.freq_scale, a.ext_factor, a.attn_factor, a.beta_fast, a.beta_slow)
                   : ggml_rope_ext(context_, x, positions, factors, a.n_dims, a.mode, a.n_ctx_orig, a.freq_base,
                                   a.freq_scale, a.ext_factor, a.attn_factor, a.beta_fast, a.beta_slow);
    }
    // [ggml_custom_op]
    ggml_tensor* with_cordage(gg::rotation& rotation) {
        ggml_tensor* args[] = {x, positions};
        ggml_tensor* node = ggml_custom_4d(context_, x->type, x->ne[0], x->ne[1], x->ne[2], x->ne[3], args, 2,
                                           gg::rotate<ggml_tensor>, GGML_N_TASKS_MAX, &rotation);
        rotation.check(*node);
        return node;
    }
    // [/ggml_custom_op]
    ggml_tensor* with_cordage_mapped(gg::rotation& rotation) {
        return checked(rotation,
                       ggml_map_custom2(context_, x, positions, gg::rotate<ggml_tensor>, GGML_N_TASKS_MAX, &rotation));
    }
    ggml_tensor* with_cordage_in_place(gg::rotation& rotation) {
        return checked(rotation, ggml_custom_inplace(context_, x, &positions, 1, gg::rotate<ggml_tensor>,
                                                     GGML_N_TASKS_MAX, &rotation));
    }
    ggml_tensor* factors() { return ggml_new_tensor_1d(context_, GGML_TYPE_F32, head_dim); }

    static ggml_tensor* checked(const gg::rotation& rotation, ggml_tensor* node) {
        rotation.check(*node);  // its src[0] is x and src[1] positions
        return node;
    }

    /// Microseconds of one operation, the median of some runs; timed on one thread.
    double compute(ggml_tensor* work, int runs = 1) {
        const int threads = runs == 1 ? 2 : 1;
        ggml_cgraph* const all = ggml_new_graph(context_);
        ggml_build_forward_expand(all, work);
        std::vector<double> times;
        for (int run = 0; run < runs; ++run) {
            const auto start = std::chrono::steady_clock::now();
            ggml_graph_compute_with_ctx(context_, all, threads);
            times.push_back(
                std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
        }
        std::ranges::sort(times);
        return times[times.size() / 2];
    }

    ggml_tensor *x, *positions;

 private:
    ggml_context* context_;
};

double value(const ggml_tensor* t, std::size_t i) {
    switch (t->type) {
        case GGML_TYPE_F32:
            return static_cast<const float*>(t->data)[i];
        case GGML_TYPE_F16:
            return ggml_fp16_to_fp32(static_cast<const ggml_fp16_t*>(t->data)[i]);
        default:
            return ggml_bf16_to_fp32(static_cast<const ggml_bf16_t*>(t->data)[i]);
    }
}

void fill(ggml_tensor* t) {
    std::mt19937 generator(1);
    for (std::int64_t i = 0; i < ggml_nelements(t); ++i) {
        const float drawn = static_cast<float>(generator() >> 8) * 0x1p-23f - 1.0f;
        if (t->type == GGML_TYPE_F32) static_cast<float*>(t->data)[i] = drawn;
        if (t->type == GGML_TYPE_F16) static_cast<ggml_fp16_t*>(t->data)[i] = ggml_fp32_to_fp16(drawn);
        if (t->type == GGML_TYPE_BF16) static_cast<ggml_bf16_t*>(t->data)[i] = ggml_fp32_to_bf16(drawn);
    }
}

struct errors {
    double between, of_ggml, of_cordage;
};

/// Largest differences between the two operations, and of each from a rotation in double, for positions from `first`.
errors compare(const trial& t, int first, bool has_ggml) {
    constexpr int heads = 3, tokens = 37;
    const int positions_a_token = gg::has_axes(t.arguments.mode) ? 4 : 1;
    graph g(heads, tokens, t.type, positions_a_token), exact(heads, tokens, GGML_TYPE_F64, positions_a_token);
    fill(g.x);
    for (int i = 0; i < tokens * positions_a_token; ++i) {
        static_cast<std::int32_t*>(g.positions->data)[i] = first + i % tokens * (1 + i / tokens);
    }
    std::memcpy(exact.positions->data, g.positions->data, ggml_nbytes(g.positions));
    for (std::size_t i = 0; i < heads * tokens * head_dim; ++i) static_cast<double*>(exact.x->data)[i] = value(g.x, i);
    ggml_tensor* const factors = t.has_factors ? g.factors() : nullptr;
    std::vector<float> values;
    for (int i = 0; factors != nullptr && i < head_dim; ++i) {
        values.push_back(1.0f + 0.05f * static_cast<float>(i));
        static_cast<float*>(factors->data)[i] = values.back();
    }
    gg::rotation rotation(t.arguments, values);
    ggml_tensor *const ours = g.with_cordage(rotation), *const truth = exact.with_cordage(rotation);
    ggml_tensor* const theirs = has_ggml ? g.with_ggml(t.arguments, factors) : ours;
    for (ggml_tensor* const each : {ours, theirs}) g.compute(each);
    exact.compute(truth);
    // The other ways to add it to a graph; in place last, since the others read x too.
    errors worst{};
    for (ggml_tensor* const same : {g.with_cordage_mapped(rotation), g.with_cordage_in_place(rotation)}) {
        g.compute(same);
        if (std::memcmp(same->data, ours->data, ggml_nbytes(ours)) != 0) worst.of_cordage = INFINITY;
    }
    for (std::size_t i = 0; i < heads * tokens * head_dim; ++i) {
        const double a = value(theirs, i), b = value(ours, i), c = static_cast<const double*>(truth->data)[i];
        worst = {std::fmax(worst.between, std::fabs(a - b)), std::fmax(worst.of_ggml, std::fabs(a - c)),
                 std::fmax(worst.of_cordage, std::fabs(b - c))};
    }
    return worst;
}

void time_both(int tokens) {
    graph g(32, tokens, GGML_TYPE_F32, 1);
    fill(g.x);
    for (int i = 0; i < tokens; ++i) static_cast<std::int32_t*>(g.positions->data)[i] = 4000 + i;
    const gg::rope_arguments a{.n_dims = head_dim};
    gg::rotation rotation(a);
    ggml_tensor *const theirs = g.with_ggml(a, nullptr), *const ours = g.with_cordage(rotation);
    g.compute(theirs, 5), g.compute(ours, 5);
    const double slow = g.compute(theirs, 41), quick = g.compute(ours, 41);
    std::printf("a graph of one operation on %d tokens, 32 heads: ggml_rope_ext %.1f us, cordage %.1f us\n", tokens,
                slow, quick);
}

/// Cached keys that move to other positions: llama.cpp's graph and cordage's operation on one cache.
struct shift_trial {
    const char* name;
    gg::rope_arguments arguments;
    ggml_type type;
    int hadamard_size;
};

class shift_graph {
 public:
    shift_graph(const shift_trial& trial, int key_heads, int cache_cells)
        : heads(key_heads),
          cells(cache_cells),
          trial_(trial),
          context_(ggml_init({std::size_t{256} << 20, nullptr, false})) {
        ggml_tensor* const cache = ggml_new_tensor_2d(context_, trial.type, head_dim * heads, cells);
        keys = ggml_view_3d(context_, cache, head_dim, heads, cells, ggml_row_size(trial.type, head_dim),
                            ggml_row_size(trial.type, head_dim * heads), 0);
        k_shift = ggml_new_tensor_1d(context_, GGML_TYPE_I32, cells * (gg::has_axes(trial.arguments.mode) ? 4 : 1));
        std::mt19937 generator(1);
        std::vector<float> values(static_cast<std::size_t>(head_dim * heads * cells));
        for (float& x : values) x = static_cast<float>(generator() >> 8) * 0x1p-23f - 1.0f;
        ggml_quantize_chunk(trial.type, values.data(), cache->data, 0, heads * cells, head_dim, nullptr);
        for (int i = 0; i < k_shift->ne[0]; ++i) {
            static_cast<std::int32_t*>(k_shift->data)[i] = i % cells < 3 ? 0 : -1000 - i / cells;
        }
        for (int i = 1; i < 4 && k_shift->ne[0] > cells; ++i) static_cast<std::int32_t*>(k_shift->data)[i * cells] = 0;
    }
    shift_graph(const shift_graph&) = delete;
    ~shift_graph() { ggml_free(context_); }

    /// A tensor with the size of all keys, transformed if the cache is, converted to floats, rotated, and stored again.
    ggml_tensor* with_ggml() {
        if (!ggml_is_quantized(trial_.type)) return rotated(keys, true);
        ggml_tensor* x = transformed(ggml_cast(context_, keys, GGML_TYPE_F32));
        return ggml_cpy(context_, transformed(rotated(x, false)), keys);
    }
    // [key_shift]
    ggml_tensor* with_cordage(gg::key_shift& shift) {
        ggml_tensor* node =
            ggml_custom_inplace(context_, keys, &k_shift, 1, gg::shift_keys<ggml_tensor>, GGML_N_TASKS_MAX, &shift);
        shift.check(*node);
        return node;
    }
    // [/key_shift]
    // [key_shift_from_copy]
    ggml_tensor* from_copy(gg::key_shift& shift, ggml_tensor* stored) {
        ggml_tensor* args[] = {k_shift, stored};
        ggml_tensor* node =
            ggml_custom_inplace(context_, keys, args, 2, gg::shift_keys<ggml_tensor>, GGML_N_TASKS_MAX, &shift);
        shift.check(*node);
        return node;
    }
    // [/key_shift_from_copy]
    /// A copy of the keys, and then zeros in their place.
    ggml_tensor* taken_out() {
        ggml_tensor* const stored = ggml_dup_tensor(context_, keys);
        std::memcpy(stored->data, keys->data, ggml_nbytes(keys));
        std::memset(keys->data, 0, ggml_nbytes(keys));
        return stored;
    }

    /// Keys as floats, untransformed, [head_dim, heads, cells].
    std::vector<float> values() const {
        std::vector<float> all(static_cast<std::size_t>(head_dim * heads * cells));
        const auto* const traits = ggml_get_type_traits(trial_.type);
        if (traits->to_float == nullptr) {
            std::memcpy(all.data(), keys->data, all.size() * sizeof(float));
        } else {
            traits->to_float(keys->data, all.data(), static_cast<std::int64_t>(all.size()));
        }
        for (std::size_t i = 0; trial_.hadamard_size > 0 && i < all.size();
             i += static_cast<std::size_t>(trial_.hadamard_size)) {
            cordage::hadamard_transform(all.data() + i, trial_.hadamard_size);
        }
        return all;
    }

    /// Microseconds.
    double compute(ggml_tensor* work, int threads) {
        ggml_cgraph* const all = ggml_new_graph(context_);
        ggml_build_forward_expand(all, work);
        ggml_cplan plan = ggml_graph_plan(all, threads, nullptr);
        std::vector<std::uint8_t> room(plan.work_size);
        plan.work_data = room.data();
        const auto start = std::chrono::steady_clock::now();
        ggml_graph_compute(all, &plan);
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }

    int heads, cells;
    ggml_tensor *keys, *k_shift;

 private:
    ggml_tensor* rotated(ggml_tensor* x, bool in_place) {
        const gg::rope_arguments& a = trial_.arguments;
        int sections[4];
        std::ranges::copy(a.sections, sections);
        if (in_place) {
            return ggml_rope_ext_inplace(context_, x, k_shift, nullptr, a.n_dims, a.mode, a.n_ctx_orig, a.freq_base,
                                         a.freq_scale, a.ext_factor, a.attn_factor, a.beta_fast, a.beta_slow);
        }
        return gg::has_axes(a.mode)
                   ? ggml_rope_multi(context_, x, k_shift, nullptr, a.n_dims, sections, a.mode, a.n_ctx_orig,
                                     a.freq_base, a.freq_scale, a.ext_factor, a.attn_factor, a.beta_fast, a.beta_slow)
                   : ggml_rope_ext(context_, x, k_shift, nullptr, a.n_dims, a.mode, a.n_ctx_orig, a.freq_base,
                                   a.freq_scale, a.ext_factor, a.attn_factor, a.beta_fast, a.beta_slow);
    }
    ggml_tensor* transformed(ggml_tensor* x) {
        if (trial_.hadamard_size == 0) return x;
        const int n = trial_.hadamard_size;
        ggml_tensor* const matrix = ggml_new_tensor_2d(context_, GGML_TYPE_F32, n, n);
        auto* const rows = static_cast<float*>(matrix->data);
        for (int row = 0; row < n; ++row) {
            for (int i = 0; i < n; ++i) rows[row * n + i] = i == row ? 1.0f : 0.0f;
            cordage::hadamard_transform(rows + row * n, n);
        }
        ggml_tensor* const in_rows = ggml_reshape_2d(context_, x, n, ggml_nelements(x) / n);
        ggml_tensor* const product = ggml_mul_mat(context_, matrix, in_rows);
        ggml_mul_mat_set_hint(product, GGML_HINT_SRC0_IS_HADAMARD);
        return ggml_reshape_3d(context_, product, head_dim, heads, cells);
    }

    shift_trial trial_;
    ggml_context* context_;
};

/// Both are within a step of the keys' format of a rotation in double; keys that stay keep their bytes.
bool compare(const shift_trial& t) {
    shift_graph theirs(t, 3, 67), ours(t, 3, 67);
    const std::vector<float> before = ours.values();
    const std::size_t bytes_of_cell = ours.keys->nb[2];
    const std::vector<char> first(static_cast<const char*>(ours.keys->data),
                                  static_cast<const char*>(ours.keys->data) + 3 * bytes_of_cell);
    std::vector<double> truth(before.begin(), before.end());
    gg::rope_arguments plain = t.arguments;
    plain.attn_factor = 1.0f;
    const gg::rotation rotation(plain);
    ggml_tensor x = *ours.keys;
    x.type = GGML_TYPE_F64, x.data = truth.data(), x.nb[0] = sizeof(double);
    for (int i = 1; i < 4; ++i) x.nb[i] = x.nb[i - 1] * static_cast<std::size_t>(x.ne[i - 1]);
    rotation.run(x, *ours.k_shift, x, 0, 1);
    gg::key_shift shift(gg::rotation(t.arguments), t.hadamard_size);
    ours.compute(ours.with_cordage(shift), 2);
    shift_graph copied(t, 3, 67);
    copied.compute(copied.from_copy(shift, copied.taken_out()), 2);
    const bool is_same = std::memcmp(copied.keys->data, ours.keys->data, ggml_nbytes(ours.keys)) == 0;
    theirs.compute(theirs.with_ggml(), 2);
    errors e{};
    const std::vector<float> a = theirs.values(), b = ours.values();
    for (std::size_t i = 0; i < truth.size(); ++i) {
        e.of_ggml = std::fmax(e.of_ggml, std::fabs(static_cast<double>(a[i]) - truth[i]));
        e.of_cordage = std::fmax(e.of_cordage, std::fabs(static_cast<double>(b[i]) - truth[i]));
    }
    const bool stays = std::memcmp(first.data(), ours.keys->data, first.size()) == 0;
    std::printf("keys moved, %-40s cordage off by %.1e, ggml by %.1e%s%s\n", t.name, e.of_cordage, e.of_ggml,
                stays ? "" : "; keys that stay do not", is_same ? "" : "; from a copy they are others");
    const double rounding = t.type == GGML_TYPE_F16 ? 1e-3 : t.type == GGML_TYPE_Q8_0 ? 0.02 : 0.35;
    return stays && is_same && e.of_cordage < rounding &&
           (t.arguments.attn_factor != 1.0f || e.of_cordage < 1.5 * e.of_ggml);
}

void time_both(const shift_trial& t, int cells) {
    shift_graph theirs(t, 8, cells), ours(t, 8, cells);
    gg::key_shift shift{gg::rotation(t.arguments), t.hadamard_size};
    ggml_tensor *const slow = theirs.with_ggml(), *const quick = ours.with_cordage(shift);
    double of_ggml = INFINITY, of_cordage = INFINITY;
    for (int round = 0; round < 11; ++round) {
        of_ggml = std::fmin(of_ggml, theirs.compute(slow, 1));
        of_cordage = std::fmin(of_cordage, ours.compute(quick, 1));
    }
    std::printf("keys moved, %s, %d cells of 8 heads: llama.cpp's graph %.0f us, cordage %.0f us\n", t.name, cells,
                of_ggml, of_cordage);
}

}  // namespace

int main() {
    const gg::rope_arguments plain{.n_dims = head_dim};
    const auto with = [&](auto change) {
        gg::rope_arguments a = plain;
        change(a);
        return a;
    };
    const gg::rope_arguments yarn = with([](auto& a) {
        a.n_ctx_orig = 4096, a.freq_scale = 0.25f, a.ext_factor = 1.0f, a.beta_fast = 32.0f, a.beta_slow = 1.0f;
    });
    const gg::rope_arguments mrope = with([](auto& a) { a.mode = gg::mrope, a.sections = {16, 24, 24, 0}; });
    const gg::rope_arguments imrope = with([](auto& a) { a.mode = gg::imrope, a.sections = {24, 20, 20, 0}; });
    const gg::rope_arguments vision = with([](auto& a) {
        a.mode = gg::vision, a.n_dims = head_dim / 2, a.sections = {32, 32, 32, 32};
    });
    const trial trials[] = {
        {"NEOX F32", plain, false, GGML_TYPE_F32},
        {"NORMAL F32, 96 of 128, scale, attn_factor",
         with([](auto& a) { a.mode = gg::normal, a.n_dims = 96, a.freq_scale = 0.125f, a.attn_factor = 1.5f; }), false,
         GGML_TYPE_F32},
        {"NEOX F16", plain, false, GGML_TYPE_F16},
        {"NEOX F32, freq_factors", plain, true, GGML_TYPE_F32},
        {"NEOX F32, YaRN", yarn, false, GGML_TYPE_F32},
        {"MROPE F32", mrope, false, GGML_TYPE_F32},
        {"IMROPE F32", imrope, false, GGML_TYPE_F32},
        {"VISION F32", vision, false, GGML_TYPE_F32},
        {"NEOX BF16", plain, false, GGML_TYPE_BF16},
    };
    bool is_right = true;
    for (const trial& t : trials) {
        const double rounding = t.type == GGML_TYPE_F32 ? 1e-6 : t.type == GGML_TYPE_F16 ? 2e-3 : 1.2e-2;
        const bool has_ggml = t.type != GGML_TYPE_BF16;
        for (const int first : {0, 100'000}) {
            const errors e = compare(t, first, has_ggml);
            std::printf("%-42s from %6d: cordage off by %.1e", t.name, first, e.of_cordage);
            has_ggml ? std::printf(", ggml by %.1e\n", e.of_ggml) : std::printf(", ggml has none\n");
            is_right = is_right && e.of_cordage < rounding && (first > 0 || e.between < 20 * rounding);
        }
    }
    for (const int tokens : {1, 32, 512}) time_both(tokens);
    const gg::rope_arguments factor = with([](auto& a) { a.attn_factor = 1.5f; });
    const shift_trial shifts[] = {
        {"Q8_0, transformed", plain, GGML_TYPE_Q8_0, 128},
        {"Q8_0", plain, GGML_TYPE_Q8_0, 0},
        {"Q4_0, transformed", plain, GGML_TYPE_Q4_0, 128},
        {"Q8_0, 96 of 128, transformed", with([](auto& a) { a.n_dims = 96; }), GGML_TYPE_Q8_0, 128},
        {"Q8_0, MROPE, transformed", mrope, GGML_TYPE_Q8_0, 128},
        {"Q8_0, IMROPE", imrope, GGML_TYPE_Q8_0, 0},
        {"F16", plain, GGML_TYPE_F16, 0},
        {"F16, attn_factor, which ggml applies again", factor, GGML_TYPE_F16, 0},
    };
    for (const shift_trial& t : shifts) is_right = compare(t) && is_right;
    for (const int i : {0, 1, 2, 6}) time_both(shifts[i], 4096);
    return is_right ? 0 : 1;
}
