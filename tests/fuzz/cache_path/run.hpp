// SPDX-License-Identifier: MIT
// One call from the projection to the cache, or of keys that move within it, by the scalar backend and the fastest one,
// compared with the plain reference.
#pragma once

#include <tuple>

#include "cache_path/operand.hpp"
#include "cordage/rotate/backward.hpp"

namespace fuzz {

/// Runs a call with these operands. True if the kernels ran, false if the call was rejected.
template <sources Which, class... Operands>
class cache_path_run {
 public:
    explicit cache_path_run(input& in) : in_(in), random_(in.generator()) {}

    bool run() {
        const index_t batch = in_.between(1, 2);
        const bool is_long = in_.rarely(16);
        const index_t tokens = is_long ? in_.between(100, 150) : in_.between(0, 9);
        const bool has_many_pairs = !is_long && in_.rarely(16);
        const index_t pairs = has_many_pairs ? in_.between(100, 320) : in_.between(1, is_long ? 32 : 40);
        run_tensors all(in_, random_, batch, tokens);
        random_angles angles(in_, random_, Which, batch, tokens, pairs);
        try {
            make_operands(all, pairs, is_long || has_many_pairs);
        } catch (const too_large&) {
            met("too large");
            return false;
        }
        bool is_broken = false;
        if (in_.rarely(8)) for_each([&](auto& o) { is_broken = is_broken || o.break_something(all); });
        bool loses = false;
        for_each([&](const auto& o) { loses = loses || (!is_broken && o.loses_a_token(all)); });
        met(is_broken ? "refused for a wrong number" : loses ? "refused for a lost token" : "done");
        must_refuse_ = is_broken || loses;
        static constexpr verb verbs[] = {verb::forward, verb::forward, verb::inverse, verb::adjoint};
        what_ = has_inverse ? verbs[in_.between(0, Which == sources::all ? 3 : 2)] : verb::forward;
        met(what_ == verb::forward ? "forward" : what_ == verb::inverse ? "inverse" : "adjoint");
        angles.template with<Which>([&](const auto& source) {
            in_.coin() ? call<cordage::half_split>(all, angles, source)
                       : call<cordage::interleaved>(all, angles, source);
        });
        return !must_refuse_;
    }

 private:
    // Keys of a cache are rotated back in place, or into another cache of its type.
    static constexpr bool has_inverse = (Operands::is_one_type && ...) && !(Operands::has_norm || ...);

    template <class F>
    void for_each(const F& f) {
        std::apply([&](auto&... o) { (f(o), ...); }, operands_);
    }

    // Two of one type may be adjacent: K and V of a head, or MLA's latent and its tail.
    void make_operands(run_tensors& all, index_t pairs, bool is_large) {
        const bool beside = sizeof...(Operands) == 2 && in_.coin();
        const index_t heads = is_large         ? in_.between(1, 2)
                              : in_.rarely(32) ? 130 + in_.between(0, 9)
                                               : in_.between(in_.rarely(32) ? 0 : 1, 10);
        heads_shape shapes[sizeof...(Operands)];
        std::size_t i = 0;
        for_each([&]<class O>(O&) {
            const index_t least = (2 * pairs + O::step - 1) / O::step;
            shapes[i++] = {all.batch, all.tokens, beside || heads < 2 ? heads : heads - in_.between(0, 1),
                           O::step * (least + in_.between(0, O::step == 1 ? 40 : 1))};
        });
        i = 0;
        using first = std::tuple_element_t<0, std::tuple<Operands...>>;
        const first* other = nullptr;
        for_each([&]<class O>(O& o) {
            const index_t room = beside && i == 0 ? shapes[1].head_dim : 0;
            if constexpr (std::is_same_v<O, first>) {
                o.make(all, shapes[i], pairs, beside ? other : nullptr, room);
                other = &o;
            } else {
                o.make(all, shapes[i], pairs, nullptr, 0);
            }
            ++i;
        });
    }

    template <class Pairing, class Source>
    void call(const run_tensors& all, const random_angles& angles, const Source& source) {
        if (!must_refuse_) {
            const plain_rotation rotation(angles, what_, all.batch * all.tokens, source.pairs());
            for_each([&](auto& o) { o.template expect<Pairing>(all, rotation, angles); });
        }
        const cordage::loop_executor how{[](index_t n, const auto& body) {
                                             while (n-- > 0) body(n);
                                         },
                                         in_.between(1, 3), 1};
        const auto by = [&]<class Backend>(Backend) {
            all.restore();
            bool is_refused = false;
            try {
                std::apply([&](const auto&... o) { turn<Pairing, Backend>(how, source, o.operand()...); }, operands_);
            } catch (const cordage::error& why) {
                if (!must_refuse_) std::fprintf(stderr, "fuzz: %s\n", why.what());
                is_refused = true;
            }
            expect(is_refused == must_refuse_, "a sound call runs, and one that is not is refused");
            if (!is_refused) for_each([](const auto& o) { o.check(); });
            expect(all.is_untouched(), "nothing beside the tokens is written");
        };
        by(cordage::backend::scalar{});
        if constexpr (!std::is_same_v<cordage::backend::fastest, cordage::backend::scalar>) {
            by(cordage::backend::fastest{});
        }
    }

    template <class Pairing, class Backend, class Executor, class Source, class... O>
    void turn(const Executor& how, const Source& source, const O&... o) const {
        if constexpr (has_inverse) {
            if (what_ == verb::inverse) return cordage::rotate_inverse<Pairing, Backend>(how, source, o...);
            if constexpr (Which == sources::all) {
                if (what_ == verb::adjoint) return cordage::rotate_backward<Pairing, Backend>(how, source, o...);
            }
        }
        if constexpr (requires { source.from(); }) {
            cordage::rebase<Pairing, Backend>(how, source, o...);
        } else {
            cordage::rotate_forward<Pairing, Backend>(how, source, o...);
        }
    }

    input& in_;
    std::mt19937_64 random_;
    std::tuple<Operands...> operands_;
    bool must_refuse_ = false;
    verb what_ = verb::forward;
};

/// One operand or two of a type.
template <sources Which, class Operand>
bool run_cache_path(input& in) {
    if (in.coin()) return cache_path_run<Which, Operand>(in).run();
    return cache_path_run<Which, Operand, Operand>(in).run();
}

}  // namespace fuzz
