// SPDX-License-Identifier: MIT
// rotate/<direction>/<backend>/<dtype>/<pairing>/<policy>/<angles>/tokens:N/heads:N/head_dim:N, each beside passes over
// its bytes, timed alternately in the same process (bounds.hpp).
//
//   directions  forward (in place), forward_to (another tensor), forward_to_bf16 (from fp32; beside passes over 3/4 of
//               its bytes, which move as many), forward_to_slots (one slot of a paged cache for each token), backward
//               (grad_x and dL/dinv_freq), backward_to (grad_x in another tensor; of_in_place: relative to backward),
//               rebase, rebase_paged; in_cache (with a table: times_probe, relative to a loop without strides, shapes
//               and checks; exact_of_table, the time without a table relative to that)
//   angles      exact, table and float32 by name; mrope, exact ones of three axes in interleaved sections; rows, exact
//               ones of a batch of 4 with a t for each row; tokens, the same 4 bases by an index for each token;
//               own_phase and own_angle, a user's struct with phases, or with float angles
//   heads:32+8  q and k in one call. One token is a decode step, whose passes are over the bytes of fp32 for all types,
//               from buffers aligned to 64 bytes or, offset:16, as operator new aligns them
//   threads:2   a pool of two threads beside one: of_one_thread in successive calls, of_one_thread_asleep with a
//               millisecond between calls, so that the pool's thread sleeps
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>

#include "../bounds.hpp"
#include "../names.hpp"
#include "../variants.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/kernels.hpp"
#include "cordage/positions/sections.hpp"

namespace {

using namespace cordage;
using benchmarks::dtype_name;
using benchmarks::pairing_name;
using benchmarks::traffic;

struct size {
    index_t tokens;
    index_t heads;
    index_t kv_heads = 0;
    std::size_t offset = 0;

    index_t all_heads() const { return heads + kv_heads; }
};

template <class Backend>
std::string backend_name() {
    return std::same_as<Backend, backend::scalar> ? "scalar" : "simd";
}

// The tensors of one benchmark: values near 1, at positions from a million on, where float32 angles are far off. q and
// k, and a second pair for results in other tensors, are contiguous.
template <class T>
struct fixture {
    size shape_of_call;
    index_t head_dim = benchmarks::usual_config().head_dim;
    std::size_t count = static_cast<std::size_t>(shape_of_call.tokens * shape_of_call.all_heads() * head_dim);
    std::size_t bytes = count * sizeof(T);
    std::size_t pass_bytes = shape_of_call.tokens == 1 ? count * sizeof(float) : bytes;
    benchmarks::aligned_bytes x{pass_bytes, shape_of_call.offset}, other{pass_bytes, shape_of_call.offset};
    std::vector<std::int32_t> position_ids = std::vector<std::int32_t>(static_cast<std::size_t>(shape_of_call.tokens));
    basis frequencies;

    fixture(size s, const any_policy& policy)
        : shape_of_call(s), frequencies(make_basis(benchmarks::usual_config(), policy, 4.0)) {
        for (auto* memory : {&x, &other}) std::fill_n(elements(*memory), count, element_traits<T>::store(1));
        std::iota(position_ids.begin(), position_ids.end(), 1'000'000);
    }

    static T* elements(benchmarks::aligned_bytes& memory) { return reinterpret_cast<T*>(memory.data()); }
    heads_view<T> q_of(benchmarks::aligned_bytes& memory) {
        return token_major(elements(memory), {1, shape_of_call.tokens, shape_of_call.heads, head_dim});
    }
    heads_view<T> k_of(benchmarks::aligned_bytes& memory) {
        T* after_q = elements(memory) + shape_of_call.tokens * shape_of_call.heads * head_dim;
        return token_major(after_q, {1, shape_of_call.tokens, shape_of_call.kv_heads, head_dim});
    }
    auto exact() const { return exact_angles(frequencies, position_ids); }
    auto angles() const { return exact(); }
};

// Times `call` on a fixture: call(operand of q) or, if there are kv heads, call(operand of q, of k).
template <traffic Traffic, class Fixture, class Call>
void run(benchmark::State& state, Fixture& f, const Call& call) {
    const auto through = [&]<class View>(View&& view) {
        if constexpr (Traffic == traffic::in_place) return in_place(view(f.x));
        if constexpr (Traffic == traffic::out_of_place) return from_to(view(f.x), view(f.other));
        if constexpr (Traffic == traffic::two_to_one) return grad_through(view(f.x), view(f.other), view(f.x));
    };
    const auto q = [&](auto& memory) { return f.q_of(memory); };
    const auto k = [&](auto& memory) { return f.k_of(memory); };
    const auto kernel = [&] {
        if constexpr (requires { call(through(q), through(k)); }) {
            if (f.shape_of_call.kv_heads > 0) {
                call(through(q), through(k));
                return;
            }
        }
        call(through(q));
    };
    const double seconds =
        benchmarks::run_beside_bounds<Traffic>(state, f.x.data(), f.other.data(), f.bytes, f.pass_bytes, kernel);
    state.counters["tokens/s"] = static_cast<double>(f.shape_of_call.tokens) / seconds;
}

// The same tokens with positions on three axes, as in an image.
template <class T>
struct image_fixture : fixture<T> {
    std::vector<std::uint8_t> axis_of_pair = interleaved_axes({24, 20, 20});
    std::vector<std::int32_t> axis_ids;

    image_fixture(size s, const any_policy& policy) : fixture<T>(s, policy) {
        for (int axis = 0; axis < 3; ++axis) {
            for (const std::int32_t id : this->position_ids) axis_ids.push_back(id + 100 * axis);
        }
    }
    axis_angles<std::int32_t> angles() const {
        return {this->frequencies, axis_of_pair, axis_major(axis_ids.data(), 3, 1, this->shape_of_call.tokens)};
    }
};

inline basis_list four_bases(const any_policy& policy) {
    std::vector<basis> bases;
    std::vector<const basis*> chosen;
    for (const double t : {1.0, 2.0, 4.0, 8.0}) bases.push_back(make_basis(benchmarks::usual_config(), policy, t));
    for (const basis& b : bases) chosen.push_back(&b);
    return basis_list(chosen);
}

// The same tokens with one of four bases each.
template <class T>
struct flat_fixture : fixture<T> {
    basis_list bases;
    std::vector<std::int32_t> basis_of_token;

    flat_fixture(size s, const any_policy& policy) : fixture<T>(s, policy), bases(four_bases(policy)) {
        for (index_t i = 0; i < s.tokens; ++i) basis_of_token.push_back(static_cast<std::int32_t>(4 * i / s.tokens));
    }
    auto angles() const { return exact_angles(bases.of(basis_of_token), this->position_ids); }
};

template <class T>
struct float32_fixture : fixture<T> {
    using fixture<T>::fixture;
    auto angles() const { return float32_angles(this->frequencies, this->position_ids); }
};

// Sources as a user writes them.
struct own_source {
    const basis& b;
    std::span<const std::int32_t> ids;

    index_t batch() const { return 1; }
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return b.pairs(); }
    double attention_factor(index_t, index_t) const { return b.attention_factor(); }
    double position(index_t, index_t token, index_t) const { return ids[static_cast<std::size_t>(token)]; }
    const double* inv_freq(index_t) const { return b.inv_freq().data(); }
};
struct own_phase : own_source {
    std::uint64_t phase(index_t, index_t token, index_t pair) const {
        return b.phase(pair, ids[static_cast<std::size_t>(token)]);
    }
};
struct own_angle : own_source {
    float angle(index_t, index_t token, index_t pair) const {
        return static_cast<float>(ids[static_cast<std::size_t>(token)]) *
               static_cast<float>(b.inv_freq()[static_cast<std::size_t>(pair)]);
    }
};
template <class T, class Source>
struct own_fixture : fixture<T> {
    using fixture<T>::fixture;
    Source angles() const { return {{this->frequencies, this->position_ids}}; }
};

// The same tokens as a batch of 4, each row at its own t.
template <class T>
struct mixed_fixture : fixture<T> {
    static constexpr index_t rows = 4;
    basis_list bases;

    mixed_fixture(size s, const any_policy& policy) : fixture<T>(s, policy), bases(four_bases(policy)) {}
    auto angles() const {
        const position_view<std::int32_t> ids(this->position_ids.data(), 1, this->shape_of_call.tokens / rows, 0);
        return exact_angles(bases.of_rows(), ids);
    }
    heads_view<T> q_of(benchmarks::aligned_bytes& memory) {
        return token_major(this->elements(memory),
                           {rows, this->shape_of_call.tokens / rows, this->shape_of_call.heads, this->head_dim});
    }
};

// Registers one benchmark: body(state, fixture).
template <class Fixture, class Body>
void enter(const std::string& name, const any_policy& policy, size s, Body body) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        Fixture f(s, policy);
        body(state, f);
    })->Apply(benchmarks::as_medians);
}

template <class T, class Pairing, class Backend>
struct named {
    const benchmarks::variant& variant;
    size s;

    std::string operator()(const char* direction, const char* angles) const {
        const auto text = [](index_t n) { return std::to_string(n); };
        return std::string("rotate/") + direction + "/" + backend_name<Backend>() + "/" + dtype_name<T>() + "/" +
               pairing_name<Pairing>() + "/" + variant.name + "/" + angles + "/tokens:" + text(s.tokens) +
               "/heads:" + text(s.heads) + (s.kv_heads > 0 ? "+" + text(s.kv_heads) : "") + "/head_dim:128" +
               (s.offset > 0 ? "/offset:" + std::to_string(s.offset) : "");
    }
};

template <class T, class Pairing, class Backend>
void add(const benchmarks::variant& variant, size s) {
    const named<T, Pairing, Backend> name{variant, s};
    using plain = fixture<T>;
    enter<plain>(name("forward", "exact"), variant.policy, s, [](benchmark::State& state, plain& f) {
        run<traffic::in_place>(state, f,
                               [&]<class... O>(const O&... o) { rotate_forward<Pairing, Backend>(f.exact(), o...); });
    });
    enter<plain>(name("forward", "table"), variant.policy, s, [](benchmark::State& state, plain& f) {
        const cos_sin_table<float> table(f.exact());
        run<traffic::in_place>(
            state, f, [&]<class... O>(const O&... o) { rotate_forward<Pairing, Backend>(table.view(), o...); });
    });
    enter<plain>(name("backward", "exact"), variant.policy, s, [](benchmark::State& state, plain& f) {
        std::vector<double> grad(static_cast<std::size_t>(f.frequencies.pairs()));
        run<traffic::two_to_one>(state, f, [&]<class... O>(const O&... o) {
            rotate_backward<Pairing, Backend>(f.exact(), rotation_gradients{.inv_freq = grad}, o...);
        });
    });
    if (s.tokens == 1) return;
    enter<plain>(name("forward_to", "exact"), variant.policy, s, [](benchmark::State& state, plain& f) {
        run<traffic::out_of_place>(
            state, f, [&]<class... O>(const O&... o) { rotate_forward<Pairing, Backend>(f.exact(), o...); });
    });
}

// Angle sources with more lookups.
template <class T, class Pairing, class Fixture>
void add_source(const char* angles, const benchmarks::variant& variant, size s) {
    const named<T, Pairing, backend::fastest> name{variant, s};
    enter<Fixture>(name("forward", angles), variant.policy, s, [](benchmark::State& state, Fixture& f) {
        run<traffic::in_place>(state, f, [&](auto o) { rotate_forward<Pairing>(f.angles(), o); });
    });
    enter<Fixture>(name("backward", angles), variant.policy, s, [](benchmark::State& state, Fixture& f) {
        const auto source = f.angles();
        index_t bases = 1;
        if constexpr (requires { source.bases(); }) bases = source.bases();
        std::vector<double> grad(static_cast<std::size_t>(bases * source.pairs()));
        run<traffic::two_to_one>(
            state, f, [&](auto o) { rotate_backward<Pairing>(f.angles(), rotation_gradients{.inv_freq = grad}, o); });
    });
}

// A K cache changed to another basis, contiguous and in blocks of 16 tokens in random order.
template <class T, class Pairing>
void add_rebase(const benchmarks::variant& variant, size s) {
    const named<T, Pairing, backend::fastest> name{variant, s};
    using plain = fixture<T>;
    const any_policy policy = variant.policy;
    enter<plain>(name("rebase", "exact"), policy, s, [policy](benchmark::State& state, plain& f) {
        const basis to = make_basis(benchmarks::usual_config(), policy, 8.0);
        run<traffic::in_place>(state, f,
                               [&](auto o) { rebase<Pairing>(exact_angles(to, f.position_ids) - f.exact(), o); });
    });
    enter<plain>(name("rebase_paged", "exact"), policy, s, [policy](benchmark::State& state, plain& f) {
        constexpr index_t block_size = 16;
        const basis to = make_basis(benchmarks::usual_config(), policy, 8.0);
        const index_t blocks = f.shape_of_call.tokens / block_size;
        std::vector<std::int32_t> block_table(static_cast<std::size_t>(blocks));
        for (index_t i = 0; i < blocks; ++i) {
            block_table[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((i * 7 + 3) % blocks);
        }
        const auto cache = token_major(f.elements(f.x), {blocks, block_size, f.shape_of_call.heads, f.head_dim});
        const auto keys = in_blocks(cache, block_table.data(), 1, f.shape_of_call.tokens, blocks);
        run<traffic::in_place>(state, f, [&](const operand<T>&) {
            rebase<Pairing>(exact_angles(to, f.position_ids) - f.exact(), in_place(keys));
        });
    });
}

// From fp32 into bfloat16, and into random slots of a paged cache.
template <class Pairing>
void add_outputs(const benchmarks::variant& variant, size s) {
    const named<float, Pairing, backend::fastest> name{variant, s};
    using plain = fixture<float>;
    enter<plain>(name("forward_to_bf16", "exact"), variant.policy, s, [](benchmark::State& state, plain& f) {
        f.bytes = f.pass_bytes = f.bytes / 4 * 3;
        run<traffic::out_of_place>(state, f, [&](const operand<float>& o) {
            auto* const narrow = reinterpret_cast<bfloat16*>(f.other.data());
            rotate_forward<Pairing>(f.exact(), from_to(o.x, token_major(narrow, o.x.shape)));
        });
    });
    enter<plain>(name("forward_to_slots", "exact"), variant.policy, s, [](benchmark::State& state, plain& f) {
        const index_t tokens = f.shape_of_call.tokens;
        std::vector<std::int32_t> slots(static_cast<std::size_t>(tokens));
        for (index_t i = 0; i < tokens; ++i)
            slots[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((i * 7 + 3) % tokens);
        const auto cache = token_major(f.elements(f.other), {tokens / 16, 16, f.shape_of_call.heads, f.head_dim});
        run<traffic::out_of_place>(state, f, [&](const operand<float>& o) {
            rotate_forward<Pairing>(f.exact(), from_to(o.x, in_slots(cache, slots.data(), 1, tokens)));
        });
    });
}

// A call beside another one that moves the same bytes.
template <class Kernel, class Other>
void run_beside(benchmark::State& state, const char* counter, std::size_t bytes, const Kernel& kernel,
                const Other& other) {
    const std::size_t repeats = std::max<std::size_t>(4, (std::size_t{1} << 20) / bytes);
    benchmarks::rounds times;
    while (times.want_more()) {
        times.add("kernel", benchmarks::seconds_of(repeats, kernel));
        times.add("other", benchmarks::seconds_of(repeats, other));
    }
    for (auto _ : state) state.SetIterationTime(times.median("kernel"));
    state.counters[counter] = times.ratio("other", "kernel");
    state.counters["spread"] = times.spread("other", "kernel");
}

// Seconds of a call that follows the previous one after a millisecond.
template <class Body>
double seconds_after_pause(const Body& body) {
    const auto end_of_last = std::chrono::steady_clock::now();
    while (benchmarks::seconds_since(end_of_last) < 1e-3) {
    }
    const auto start = std::chrono::steady_clock::now();
    body();
    return benchmarks::seconds_since(start);
}

// Two threads beside one, forward and backward in place.
template <class T, class Pairing>
void add_threads(const benchmarks::variant& variant, size s) {
    const named<T, Pairing, backend::fastest> name{variant, s};
    using plain = fixture<T>;
    const auto beside_one = [&](const char* direction, auto call) {
        enter<plain>(name(direction, "exact") + "/threads:2", variant.policy, s,
                     [call](benchmark::State& state, plain& f) {
                         const threads two(2);
                         const auto by_two = [&] { call(two, f); };
                         const auto by_one = [&] { call(serial{}, f); };
                         run_beside(state, "of_one_thread", f.bytes, by_two, by_one);
                         benchmarks::rounds times;
                         while (times.want_more()) {
                             times.add("one", seconds_after_pause(by_one));
                             times.add("two", seconds_after_pause(by_two));
                         }
                         state.counters["of_one_thread_asleep"] = times.ratio("one", "two");
                     });
    };
    beside_one("forward", [](const auto& where, plain& f) {
        const auto q = in_place(f.q_of(f.x));
        if (f.shape_of_call.kv_heads > 0) {
            rotate_forward<Pairing>(where, f.exact(), q, in_place(f.k_of(f.x)));
        } else {
            rotate_forward<Pairing>(where, f.exact(), q);
        }
    });
    beside_one("backward", [](const auto& where, plain& f) {
        std::vector<double> grad(static_cast<std::size_t>(f.frequencies.pairs()));
        rotate_backward<Pairing>(where, f.exact(), rotation_gradients{.inv_freq = grad},
                                 grad_through(f.q_of(f.x), f.q_of(f.other), f.q_of(f.x)));
    });
}

// grad_x in another tensor, as autograd computes it, beside grad_x in place of grad_y.
template <class T, class Pairing>
void add_backward_to(const benchmarks::variant& variant, size s) {
    const named<T, Pairing, backend::fastest> name{variant, s};
    using plain = fixture<T>;
    enter<plain>(name("backward_to", "exact"), variant.policy, s, [](benchmark::State& state, plain& f) {
        benchmarks::aligned_bytes elsewhere(f.bytes, 0);
        std::vector<double> grad(static_cast<std::size_t>(f.frequencies.pairs()));
        const auto to = [&](benchmarks::aligned_bytes& grad_x) {
            rotate_backward<Pairing>(f.exact(), rotation_gradients{.inv_freq = grad},
                                     grad_through(f.q_of(f.x), f.q_of(f.other), f.q_of(grad_x)));
        };
        run_beside(
            state, "of_in_place", f.bytes, [&] { to(elsewhere); }, [&] { to(f.x); });
    });
}

// A lower bound for rotation with a table: whole tokens of contiguous heads of 128 lanes, in the layout of the kernels,
// without checks.
template <class T, class Pairing>
void probe(T* x, const cos_sin_view<float>& table, index_t heads) {
    using layout = backend::layout_of<xsimd::default_arch, Pairing, operand<T>>;
    constexpr index_t lanes = 128, pairs = lanes / 2;
    constexpr std::size_t vectors = layout::most_in_registers;
    constexpr index_t pairs_each = static_cast<index_t>(vectors) * layout::pairs_each;
    static_assert(pairs % pairs_each == 0);
    for (index_t token = 0; token < table.token_count; ++token, x += heads * lanes) {
        for (index_t pair = 0; pair < pairs; pair += pairs_each) {
            const index_t entry = token * pairs + pair;
            const backend::simd_detail::angles_in_registers<layout, vectors, float> angles(
                {table.cos_data + entry, table.sin_data + entry}, {1.0f, 1.0f});
            T* head = x + Pairing::first(pair, pairs);
            for (index_t h = 0; h < heads; ++h, head += lanes) {
                angles.template rotate<Pairing>(element_traits<T>{}, head, pairs, element_traits<T>{}, head, pairs);
            }
        }
    }
}

// In place with a table, beside the probe and beside exact angles.
template <class T, class Pairing>
void add_in_cache(const benchmarks::variant& variant, size s) {
    const named<T, Pairing, backend::fastest> name{variant, s};
    enter<fixture<T>>(name("in_cache", "table"), variant.policy, s, [](benchmark::State& state, fixture<T>& f) {
        const cos_sin_table<float> table(f.exact());
        const std::size_t repeats = std::max<std::size_t>(4, (std::size_t{1} << 20) / f.bytes);
        const auto rotate_by = [&](const auto& angles) {
            if (f.shape_of_call.kv_heads > 0) {
                rotate_forward<Pairing>(angles, in_place(f.q_of(f.x)), in_place(f.k_of(f.x)));
            } else {
                rotate_forward<Pairing>(angles, in_place(f.q_of(f.x)));
            }
        };
        benchmarks::rounds times;
        const auto add = [&](const char* what, const auto& body) {
            times.add(what, benchmarks::seconds_of(repeats, body));
        };
        while (times.want_more()) {
            add("table", [&] { rotate_by(table.view()); });
            add("exact", [&] { rotate_by(f.exact()); });
            add("probe", [&] { probe<T, Pairing>(f.elements(f.x), table.view(), f.shape_of_call.all_heads()); });
        }
        for (auto _ : state) state.SetIterationTime(times.median("table"));
        state.counters["times_probe"] = times.ratio("table", "probe");
        state.counters["exact_of_table"] = times.ratio("exact", "table");
        state.counters["spread"] = times.spread("table", "probe");
    });
}

template <class T>
void add_own_sources(const benchmarks::variant& variant, size s) {
    add_source<T, half_split, fixture<T>>("exact", variant, s);
    add_source<T, half_split, own_fixture<T, own_phase>>("own_phase", variant, s);
    add_source<T, half_split, own_fixture<T, own_angle>>("own_angle", variant, s);
    add_source<T, half_split, float32_fixture<T>>("float32", variant, s);
}

const int registered = [] {
    // Every variant by name at one shape, then every shape, type and backend for one variant.
    for (const auto& variant : benchmarks::closed_forms()) {
        add<float, half_split, backend::fastest>(variant, {512, 32});
    }
    static const benchmarks::variant one{"ntk_aware", ntk_aware{}};
    for (const size s :
         {size{1, 32, 8}, size{1, 32, 8, 16}, size{32, 32}, size{128, 8}, size{512, 32}, size{4096, 32}}) {
        if (s.tokens != 512) add<float, half_split, backend::fastest>(one, s);  // 512 is already registered
        add<float, interleaved, backend::fastest>(one, s);
        add<float16, half_split, backend::fastest>(one, s);
        add<float16, interleaved, backend::fastest>(one, s);
        add<bfloat16, half_split, backend::fastest>(one, s);
        add<bfloat16, interleaved, backend::fastest>(one, s);
    }
    const size past_any_cache{32768, 32};
    add<float, half_split, backend::fastest>(one, past_any_cache);
    add<float, interleaved, backend::fastest>(one, past_any_cache);
    add<float16, half_split, backend::fastest>(one, past_any_cache);
    add<float16, interleaved, backend::fastest>(one, past_any_cache);
    add<bfloat16, half_split, backend::fastest>(one, past_any_cache);
    add<bfloat16, interleaved, backend::fastest>(one, past_any_cache);
    for (const size s : {size{512, 32}, size{4096, 32}, past_any_cache}) {
        add_backward_to<float, half_split>(one, s);
        add_backward_to<bfloat16, half_split>(one, s);
    }
    for (const size s : {size{1, 32, 8}, size{32, 32}, size{512, 32}, size{4096, 32}}) {
        add_threads<float, half_split>(one, s);
        add_threads<bfloat16, half_split>(one, s);
    }
    for (const size s : {size{1, 32, 8}, size{128, 8}, size{512, 32}}) {
        add_in_cache<float, half_split>(one, s);
        add_in_cache<float, interleaved>(one, s);
        add_in_cache<float16, half_split>(one, s);
        add_in_cache<float16, interleaved>(one, s);
        add_in_cache<bfloat16, half_split>(one, s);
        add_in_cache<bfloat16, interleaved>(one, s);
    }
    add<double, half_split, backend::fastest>(one, {512, 32});
    for (const size s : {size{128, 8}, size{4096, 32}}) {
        add_source<float, half_split, image_fixture<float>>("mrope", one, s);
        add_source<float, half_split, mixed_fixture<float>>("rows", one, s);
        add_source<float, half_split, flat_fixture<float>>("tokens", one, s);
        add_outputs<half_split>(one, s);
        add_rebase<float, half_split>(one, s);
        add_rebase<bfloat16, half_split>(one, s);
    }
    add_own_sources<float>(one, {512, 8});
    add_own_sources<double>(one, {512, 8});
    add<float, half_split, backend::scalar>(one, {128, 8});
    add<double, half_split, backend::scalar>(one, {128, 8});
    add<float16, half_split, backend::scalar>(one, {128, 8});
    add<bfloat16, half_split, backend::scalar>(one, {128, 8});
    return 0;
}();

}  // namespace
