// SPDX-License-Identifier: MIT
// One call of the rotation with elements of one type, compared with a naive rotation.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/forward.hpp"
#include "rotate/angles.hpp"
#include "rotate/arena.hpp"
#include "tolerances.hpp"

namespace fuzz {

/// One run for elements of type T. True if the kernels ran, false if the call was rejected.
template <class T>
bool run_rotation(input& in);
extern template bool run_rotation<float>(input&);
extern template bool run_rotation<double>(input&);
extern template bool run_rotation<cordage::float16>(input&);
extern template bool run_rotation<cordage::bfloat16>(input&);

/// Serial, threads or a host's loop that runs its slices backwards, with any concurrency.
struct any_executor {
    int kind = 0;
    index_t count = 1;

    index_t concurrency() const noexcept { return count; }
    index_t smallest_slice() const noexcept { return 1; }
    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        const auto backwards = [](index_t n, const auto& body) {
            while (n-- > 0) body(n);
        };
        if (kind == 0) cordage::serial{}.run(slices, slice);
        if (kind == 1) cordage::threads{count}.run(slices, slice);
        if (kind == 2) cordage::loop_executor{backwards, count}.run(slices, slice);
    }
};

inline any_executor random_executor(input& in, bool& doubtful) {
    any_executor how{static_cast<int>(in.between(0, 2)), in.between(1, 3)};
    if (in.rarely()) {
        how.count = in.hostile_integer();
        if (how.count > 8) how = {2, how.count};
        doubtful = true;
    }
    return how;
}

/// The map of a call on lanes: y = factor R(direction * angle) x.
struct map {
    int direction;
    std::function<double(index_t row, index_t token)> factor;
};

/// Beyond the range of a kernel's float arithmetic results are unspecified.
inline bool is_comparable(double factor) { return std::fabs(factor) > 0x1p-30 && std::fabs(factor) < 0x1p30; }

/// Records the expected y of one operand.
template <class T, class Pairing>
void expect_rotated(const placed_view<T>& x, const placed_view<T>& y, index_t first_lane, index_t pairs,
                    const expected_angles& angles, const map& by, Pairing) {
    const cordage::heads_shape& s = x.view.shape;
    for (index_t r = 0; r < s.batch; ++r) {
        for (index_t t = 0; t < s.tokens; ++t) {
            const double factor = by.factor(r, t);
            std::vector<turn> turns;
            for (index_t pair = 0; pair < pairs && s.heads > 0; ++pair) turns.push_back(angles.at(r, t, pair));
            for (index_t h = 0; h < s.heads; ++h) {
                const auto put = [&](index_t lane, double wanted, double allowed) {
                    y.in->expect_at(y.at(r, t, h, lane), wanted, allowed);
                };
                const auto from = [&](index_t lane) { return x.in->before(x.at(r, t, h, lane)); };
                for (index_t lane = 0; lane < s.head_dim; ++lane) put(lane, from(lane), 0.0);
                for (index_t pair = 0; pair < pairs; ++pair) {
                    const turn& a = turns[static_cast<std::size_t>(pair)];
                    const index_t lane0 = first_lane + Pairing::first(pair, pairs);
                    const index_t lane1 = first_lane + Pairing::second(pair, pairs);
                    const double x0 = from(lane0), x1 = from(lane1);
                    const long double c = factor * a.cos, s_ = factor * by.direction * a.sin;
                    // A caller's table may have cos and sin above 1.
                    const auto largest = static_cast<double>(std::max({1.0L, std::fabs(a.cos), std::fabs(a.sin)}));
                    const double size = (std::fabs(x0) + std::fabs(x1)) * std::fabs(factor) * largest;
                    const auto bounded = [&](index_t lane, long double wanted) {
                        const auto w = static_cast<double>(wanted);
                        const bool overflows = std::is_same_v<T, cordage::float16> && std::fabs(w) > 6e4;
                        const double allowed = cordage_test::allowed_error<T>(size, 0.0, w) + size * a.lost;
                        put(lane, w, is_comparable(factor) && !overflows ? allowed : HUGE_VAL);
                    };
                    bounded(lane0, c * x0 - s_ * x1);
                    bounded(lane1, s_ * x0 + c * x1);
                }
            }
        }
    }
}

/// Sums that a backward pass adds to, in a separate block: initial and expected values, and allowed errors.
class gradient_block {
 public:
    gradient_block(index_t count, std::mt19937_64& random)
        : data_(new double[static_cast<std::size_t>(count)]),
          sums_(static_cast<std::size_t>(count)),
          sizes_(sums_.size()) {
        for (std::size_t i = 0; i < sums_.size(); ++i) data_[i] = uniform(random, -1.0, 1.0);
        before_.assign(data_.get(), data_.get() + count);
    }
    std::span<double> span() { return {data_.get(), sums_.size()}; }
    void add(index_t i, double term) {
        if (sums_.empty()) return;
        sums_[static_cast<std::size_t>(i)] += static_cast<long double>(term);
        sizes_[static_cast<std::size_t>(i)] += std::fabs(term);
    }
    void allow_anything(index_t i) {
        if (!sums_.empty()) sizes_[static_cast<std::size_t>(i)] = HUGE_VAL;
    }
    bool is_untouched() const { return std::equal(before_.begin(), before_.end(), data_.get()); }
    bool is_as_expected(double per_size) const {
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            if (!(sizes_[i] < 1e300)) continue;
            const auto wanted = static_cast<double>(before_[i] + sums_[i]);
            const double allowed = per_size * sizes_[i] + 1e-15 * (1.0 + std::fabs(wanted));
            if (!(std::fabs(data_[i] - wanted) <= allowed)) {
                std::fprintf(stderr, "fuzz: sum %zu is %.17g, must be %.17g within %.3g\n", i, data_[i], wanted,
                             allowed);
                return false;
            }
        }
        return true;
    }

 private:
    std::unique_ptr<double[]> data_;
    std::vector<double> before_;
    std::vector<long double> sums_;
    std::vector<double> sizes_;
};

/// Makes operands for angles, calls the library and compares.
template <class T>
class rotation_run {
 public:
    explicit rotation_run(input& in) : in_(in), random_(in.generator()), memory_(in, random_) {}

    /// Kernels are compiled for each source, pairing and element type, which takes long: one source is tested with all,
    /// the others with float and one pairing.
    bool run() {
        using std::int32_t, cordage::exact_angles, cordage::float32_angles, cordage::half_split, cordage::interleaved;
        constexpr bool all_sources = std::is_same_v<T, float>;
        const auto kind = in_.between(0, all_sources ? 10 : 1);
        try {
            if (kind == 0) with_angles<exact_angles<int32_t>, int32_t>(in_, random_, turning<half_split>());
            if (kind == 1) with_angles<exact_angles<int32_t>, int32_t>(in_, random_, turning<interleaved>());
            if constexpr (all_sources) {
                if (kind == 2) with_angles<exact_angles<double>, double>(in_, random_, turning<half_split>());
                if (kind == 3) with_angles<float32_angles<double>, double>(in_, random_, turning<half_split>());
                if (kind == 4) with_axis_angles<int32_t>(in_, random_, turning<interleaved>());
                if (kind == 5) with_bases<double>(in_, random_, turning<half_split>());
                if (kind == 6) with_table<float>(in_, random_, turning<half_split>());
                if (kind == 7) with_table<double>(in_, random_, turning<half_split>());
                if (kind == 8) rebase_rows<interleaved, int32_t>();
                if (kind == 9) rebase_slots<half_split, double, std::int32_t>();
                if (kind == 10) rebase_slots<interleaved, int32_t, std::int64_t>();
            }
        } catch (const cordage::error&) {  // from a basis or an angle source
            return false;
        }
        return ran_;
    }

 private:
    template <class Pairing>
    auto turning() {
        return [this](const auto& angles, const expected_angles& e, index_t batch, bool is_sound) {
            doubtful_ = doubtful_ || !is_sound;
            with_operation<Pairing>(angles, e, batch);
        };
    }

    cordage::heads_shape random_shape(index_t batch, index_t tokens, index_t pairs) {
        return {batch, tokens, in_.rarely(32) ? 0 : in_.between(1, 4),
                std::max<index_t>(2, 2 * pairs + (in_.coin() ? in_.between(0, 70) : 0))};
    }
    index_t random_first_lane(const cordage::heads_shape& shape, index_t pairs) {
        if (in_.rarely()) return doubtful_ = true, in_.hostile_integer();
        const index_t most = shape.head_dim - 2 * pairs;
        return in_.coin() ? 0 : in_.between(0, std::min<index_t>(most, 200));
    }

    /// Calls the library; rejected calls must not have written anything, and valid ones must not be rejected.
    template <class Call>
    bool accepts(const Call& call) {
        doubtful_ = doubtful_ || memory_.is_doubtful();
        try {
            call();
        } catch (const cordage::error& why) {
            if (!doubtful_) std::fprintf(stderr, "fuzz: %s\n", why.what());
            expect(doubtful_, "a sound call is not refused");
            expect(memory_.is_untouched(), "a refused call wrote nothing");
            return false;
        }
        ran_ = true;
        return true;
    }

    template <class Pairing, class Source>
    void with_operation(const Source& angles, const expected_angles& e, index_t batch) {
        if constexpr (cordage::differentiable_angle_source<Source>) {
            if (in_.rarely(4)) return differentiate<Pairing>(angles, e, batch);
        }
        turn_two<Pairing>(angles, e, batch);
    }

    struct two_operands {
        placed_view<T> x[2], y[2];
        std::vector<cordage::operand<T>> o;
    };
    two_operands random_operands(index_t batch, index_t tokens, index_t pairs) {
        two_operands all;
        for (std::size_t i = 0; i < 2; ++i) {
            const cordage::heads_shape shape = random_shape(batch, tokens, pairs);
            all.x[i] = memory_.place(shape);
            all.y[i] = in_.coin() ? all.x[i] : memory_.place(shape);
            all.o.push_back(cordage::from_to(all.x[i].view, all.y[i].view, random_first_lane(shape, pairs)));
        }
        return all;
    }

    template <class Pairing, class Source>
    void turn_two(const Source& angles, const expected_angles& e, index_t batch) {
        const index_t pairs = angles.pairs();
        const two_operands two =
            random_operands(batch, std::clamp<index_t>(angles.tokens(), 0, 4096), std::clamp<index_t>(pairs, 1, 70));
        const any_executor how = random_executor(in_, doubtful_);
        const auto direction = in_.between(0, 2);
        const bool called = accepts([&] {
            using namespace cordage;
            if (direction == 0) rotate_forward<Pairing>(how, angles, two.o[0], two.o[1]);
            if (direction == 1) rotate_inverse<Pairing>(how, angles, two.o[0], two.o[1]);
            if (direction == 2) rotate_backward<Pairing>(how, angles, two.o[0], two.o[1]);
        });
        if (!called) return;
        const map by{direction == 0 ? 1 : -1, [&](index_t row, index_t token) {
                         const double m = e.attention_factor(row, token);
                         return direction == 1 ? 1.0 / m : m;
                     }};
        for (std::size_t i = 0; i < 2; ++i) {
            expect_rotated(two.x[i], two.y[i], two.o[i].first_lane, pairs, e, by, Pairing{});
        }
        expect(memory_.is_as_expected(), "every element is as the naive rotation has it");
    }

    template <class Pairing, class Source>
    void differentiate(const Source& angles, const expected_angles& e, index_t batch) {
        const index_t pairs = angles.pairs(), tokens = angles.tokens();
        const cordage::heads_shape shape = random_shape(batch, tokens, pairs);
        const placed_view<T> grad_y = memory_.place(shape), y = memory_.place(shape);
        const auto where = in_.between(0, 2);
        const placed_view<T> grad_x = where == 0 ? grad_y : where == 1 ? y : memory_.place(shape);
        const auto wanted = [&](index_t size) {
            if (in_.rarely()) return doubtful_ = true, in_.between(0, 255);
            return in_.coin() ? size : 0;
        };
        gradient_block of_theta(wanted(angles.bases() * pairs), random_);
        gradient_block of_position(wanted(cordage::angle_detail::axes_of(angles) * batch * tokens), random_);
        gradient_block of_factor(wanted(angles.bases()), random_);
        const auto o = cordage::grad_through(grad_y.view, y.view, grad_x.view, random_first_lane(shape, pairs));
        const cordage::rotation_gradients sums{
            .inv_freq = of_theta.span(), .position_ids = of_position.span(), .attention_factor = of_factor.span()};
        const any_executor how = random_executor(in_, doubtful_);
        if (!accepts([&] { cordage::rotate_backward<Pairing>(how, angles, sums, o); })) {
            expect(of_theta.is_untouched() && of_position.is_untouched() && of_factor.is_untouched(),
                   "a refused call added nothing");
            return;
        }
        for (index_t r = 0; r < batch; ++r) {
            for (index_t t = 0; t < tokens; ++t) {
                const index_t basis = angles.bases() == 1 ? 0 : e.basis(r, t);
                const double m = e.attention_factor(r, t);
                if (!is_comparable(m) && !of_factor.span().empty()) of_factor.allow_anything(basis);
                for (index_t pair = 0; pair < pairs; ++pair) {
                    const index_t lane0 = o.first_lane + Pairing::first(pair, pairs);
                    const index_t lane1 = o.first_lane + Pairing::second(pair, pairs),
                                  axis = cordage::angle_detail::axis_of(angles, pair);
                    const double p = e.position(r, t, axis), theta = e.theta(r, t, pair);
                    for (index_t h = 0; h < shape.heads; ++h) {
                        const double g0 = grad_y.in->before(grad_y.at(r, t, h, lane0)),
                                     g1 = grad_y.in->before(grad_y.at(r, t, h, lane1)),
                                     y0 = y.in->before(y.at(r, t, h, lane0)), y1 = y.in->before(y.at(r, t, h, lane1));
                        for (const double term : {g1 * y0, -g0 * y1}) {
                            of_theta.add(basis * pairs + pair, p * term);
                            of_position.add((axis * batch + r) * tokens + t, theta * term);
                        }
                        for (const double term : {g0 * y0, g1 * y1}) of_factor.add(basis, term / m);
                    }
                }
            }
        }
        constexpr double per_size = 4.0 * cordage_test::gradient_sum<T>;
        expect(of_theta.is_as_expected(per_size), "dL/dinv_freq is the naive sum");
        expect(of_position.is_as_expected(per_size), "dL/dposition is the naive sum");
        expect(of_factor.is_as_expected(per_size), "dL/dm is the naive sum");
        const map by{-1, e.attention_factor};
        expect_rotated(grad_y, grad_x, o.first_lane, pairs, e, by, Pairing{});
        expect(memory_.is_as_expected(), "grad_x is as the naive rotation has it");
    }

    /// Two bases with the same number of pairs, and the angle between them.
    template <class P>
    struct change {
        random_angles<P> all;
        bool same_pairs;
        cordage::basis from, to;

        change(input& in, std::mt19937_64& random, bool& doubtful)
            : all(in, random, 1, 1),
              same_pairs(!in.rarely()),
              from(all.bases[0]),
              to(random_basis(in, all.pairs + (same_pairs ? 0 : 1), doubtful)) {
            doubtful = doubtful || all.doubtful || !same_pairs;
        }
        auto angles() const { return cordage::exact_angles(to, all.view()) - cordage::exact_angles(from, all.view()); }
        expected_angles expected() const {
            expected_angles e = all.expected();
            e.attention_factor = [m = to.attention_factor() / from.attention_factor()](auto...) { return m; };
            e.at = [this](index_t r, index_t t, index_t pair) {
                const auto i = static_cast<std::size_t>(pair);
                const auto p = static_cast<double>(all.id(r, t, 0));
                const double before = from.inv_freq()[i], after = to.inv_freq()[i];
                return with_loss(with_loss(turn_between(p, before, after), p, before), p, after);
            };
            return e;
        }
    };

    template <class Pairing, class P>
    void rebase_rows() {
        const change<P> c(in_, random_, doubtful_);
        const two_operands two = random_operands(c.all.batch, c.all.tokens, c.all.pairs);
        const any_executor how = random_executor(in_, doubtful_);
        if (!accepts([&] { cordage::rebase<Pairing>(how, c.angles(), two.o[0], two.o[1]); })) return;
        const expected_angles e = c.expected();
        for (std::size_t i = 0; i < 2; ++i) {
            expect_rotated(two.x[i], two.y[i], two.o[i].first_lane, c.all.pairs, e, {1, e.attention_factor}, Pairing{});
        }
        expect(memory_.is_as_expected(), "every key is as if rotated by the new basis");
    }

    /// The tokens of every row in slots or blocks of a cache, in any order; all other slots are unchanged.
    template <class Pairing, class P, class Entry>
    void rebase_slots() {
        const change<P> c(in_, random_, doubtful_);
        const index_t batch = c.all.batch, tokens = c.all.tokens;
        const bool is_by_block = in_.coin();
        const index_t block_size = in_.between(1, 9),
                      entries = is_by_block ? (tokens + block_size - 1) / block_size : tokens;
        const index_t row_stride = is_by_block ? entries + in_.between(0, 2) : entries;
        const index_t blocks = (is_by_block ? batch * entries : batch * entries / block_size + 1) + in_.between(0, 4);
        const index_t room = is_by_block ? blocks : blocks * block_size;
        std::vector<Entry> free(static_cast<std::size_t>(room));
        for (std::size_t i = 0; i < free.size(); ++i) free[i] = static_cast<Entry>(i);
        std::shuffle(free.begin(), free.end(), random_);
        // The last row ends with its last entry, in a block of its own.
        const auto count = static_cast<std::size_t>(batch == 0 ? 0 : (batch - 1) * row_stride + entries);
        const auto table = std::make_unique<Entry[]>(count);
        const bool has_gaps = in_.coin();
        for (std::size_t i = 0; i < count; ++i) {
            const bool is_gap = free.empty() || (has_gaps && random_() % 4 == 0);
            table[i] = is_gap ? Entry{-1} : free[i % free.size()];
        }
        if (count > static_cast<std::size_t>(room))
            doubtful_ = true;  // entries past the tokens of a longer row are not read
        if (count > 0 && in_.rarely(32)) {
            table[random_() % count] = static_cast<Entry>(in_.coin() ? in_.hostile_integer() : in_.between(0, 8));
            doubtful_ = true;
        }
        const cordage::heads_shape one = random_shape(blocks, block_size, c.all.pairs);
        const placed_view<T> cache = memory_.place(one);
        const auto view = is_by_block ? cordage::in_blocks(cache.view, table.get(), batch, tokens, row_stride)
                                      : cordage::in_slots(cache.view, table.get(), batch, tokens);
        const auto o = cordage::in_place(view, random_first_lane(one, c.all.pairs));
        const any_executor how = random_executor(in_, doubtful_);
        if (!accepts([&] { cordage::rebase<Pairing>(how, c.angles(), o); })) return;
        if (memory_.is_doubtful()) return;  // an invalid size of the cache moves its slots
        const expected_angles e = c.expected();
        for (index_t r = 0; r < batch; ++r) {
            for (index_t t = 0; t < tokens; ++t) {
                const index_t entry =
                    table[static_cast<std::size_t>(r * row_stride + (is_by_block ? t / block_size : t))];
                if (entry < 0) continue;
                const index_t slot = is_by_block ? entry * block_size + t % block_size : entry;
                placed_view<T> place = cache;
                place.offset +=
                    slot / block_size * cache.view.batch_stride + slot % block_size * cache.view.token_stride;
                place.view.shape.batch = place.view.shape.tokens = 1;
                expected_angles of_slot = e;
                of_slot.at = [&e, r, t](index_t, index_t, index_t pair) { return e.at(r, t, pair); };
                expect_rotated(place, place, o.first_lane, c.all.pairs, of_slot, {1, e.attention_factor}, Pairing{});
            }
        }
        expect(memory_.is_as_expected(), "listed slots are as if rotated by the new basis, others as they were");
    }

    input& in_;
    std::mt19937_64 random_;
    memory<T> memory_;
    bool doubtful_ = false, ran_ = false;
};

template <class T>
bool run_rotation(input& in) {
    return rotation_run<T>(in).run();
}

}  // namespace fuzz
