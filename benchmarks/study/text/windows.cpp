// SPDX-License-Identifier: MIT
// Placing copies and records in a window.
#include "text/windows.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "cordage/positions/sampler.hpp"

namespace demo {
namespace {

using cordage::draw_below;
using cordage::draw_real;

class window_maker {
 public:
    window_maker(generator& draw, const window_shape& shape, token mark, window& made)
        : draw_(draw), shape_(shape), mark_(mark), made_(made), taken_(made.tokens.size(), false) {}

    void add_copy() {
        const index_t most = std::min(shape_.copied_most, made_.length() / 4);
        const index_t least = std::min(shape_.copied_least, most);
        const auto count = least + static_cast<index_t>(below(most - least + 1));
        const auto [from, to] = place(count);
        if (from < 0) return;
        if (below(2) == 0) put_random(from, count);
        std::copy_n(made_.tokens.begin() + from, count, made_.tokens.begin() + to);
        tell(token_kind::copied, to, count, shape_.recalled_from, to - from);
    }

    void add_record() {
        const index_t cue = 1 + shape_.key_tokens, count = cue + shape_.value_tokens;
        const auto [from, to] = place(count);
        if (from < 0) return;
        do {
            put_random(from, count);
            made_.tokens[at(from)] = mark_;
        } while (!keys_.insert({made_.tokens.begin() + from, made_.tokens.begin() + from + cue}).second);
        std::copy_n(made_.tokens.begin() + from, count, made_.tokens.begin() + to);
        tell(token_kind::value, to, count, cue, to - from);
    }

 private:
    struct places {
        index_t from, to;
    };

    static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
    std::uint64_t below(index_t bound) { return draw_below(draw_, static_cast<std::uint64_t>(bound)); }

    // Two free stretches of `count` tokens; from -1 if none was found. The window's first token is never guessed.
    places place(index_t count) {
        constexpr int distances = 8, tries = 16;
        const index_t farthest = made_.length() + 1 - count;
        for (int i = 0; farthest >= count && i < distances; ++i) {
            const double log_distance =
                draw_real(draw_, std::log(static_cast<double>(count)), std::log(static_cast<double>(farthest) + 1.0));
            const index_t distance = std::clamp(static_cast<index_t>(std::exp(log_distance)), count, farthest);
            for (int j = 0; j < tries; ++j) {
                const auto from = static_cast<index_t>(below(farthest - distance + 1));
                if (!is_free(from, count) || !is_free(from + distance, count)) continue;
                for (const index_t begin : {from, from + distance}) {
                    std::fill_n(taken_.begin() + begin, count, true);
                }
                return {from, from + distance};
            }
        }
        return {-1, -1};
    }
    bool is_free(index_t begin, index_t count) const {
        return std::none_of(taken_.begin() + begin, taken_.begin() + begin + count, [](bool t) { return t; });
    }

    void put_random(index_t begin, index_t count) {
        for (index_t i = begin; i < begin + count; ++i) {
            made_.tokens[at(i)] = static_cast<token>(below(mark_));
            made_.kinds[at(i)] = token_kind::random;
        }
    }
    void tell(token_kind kind, index_t begin, index_t count, index_t cue, index_t distance) {
        std::fill_n(made_.kinds.begin() + begin, cue, token_kind::random);
        std::fill_n(made_.kinds.begin() + begin + cue, count - cue, kind);
        made_.repeats.push_back({kind, begin + cue, count - cue, distance});
    }

    generator& draw_;
    const window_shape& shape_;
    token mark_;
    window& made_;
    std::vector<bool> taken_;
    std::set<std::vector<token>> keys_;
};

}  // namespace

window draw_window(generator& draw, const window_shape& shape, std::span<const token> text, token vocabulary,
                   index_t length) {
    const auto count = static_cast<std::size_t>(length) + 1;
    const auto start = draw_below(draw, text.size() - count + 1);
    const auto part = text.subspan(start, count);
    window made{{part.begin(), part.end()}, std::vector<token_kind>(count, token_kind::plain), {}};
    window_maker maker(draw, shape, static_cast<token>(vocabulary - 1), made);
    const auto items = [&](index_t tokens_an_item) { return std::max<index_t>(1, length / tokens_an_item); };
    for (index_t i = 0; i < items(shape.tokens_a_copy); ++i) maker.add_copy();
    for (index_t i = 0; i < items(shape.tokens_a_record); ++i) maker.add_record();
    std::ranges::sort(made.repeats, {}, &repeated_span::begin);
    return made;
}

}  // namespace demo
