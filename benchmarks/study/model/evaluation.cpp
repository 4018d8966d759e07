// SPDX-License-Identifier: MIT
// What a frozen model makes of windows: losses and matches of each kind of token.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "model/batches.hpp"
#include "model/learning.hpp"
#include "model/model.hpp"

namespace demo {
namespace {

// What one window's tokens cost, and whether they were guessed; of those that can be guessed.
struct guesses {
    std::vector<double> loss;
    std::vector<bool> hit;

    double mean_loss(index_t begin, index_t count) const {
        return std::accumulate(loss.begin() + begin, loss.begin() + begin + count, 0.0) / static_cast<double>(count);
    }
    index_t hits(index_t begin, index_t count) const {
        return std::count(hit.begin() + begin, hit.begin() + begin + count, true);
    }
};

std::vector<guesses> read(const decoder& model, std::span<const rotary> rotations, std::span<const window> some) {
    const batch b = batch_of(some, is_guessable);
    const at::Tensor logits = model.logits(b.inputs, rotations, b.rows);
    const at::Tensor targets = b.targets;
    const at::Tensor losses =
        at::nll_loss(at::log_softmax(logits, 1), targets, {}, at::Reduction::None).to(at::kDouble).cpu();
    const at::Tensor hits = logits.argmax(1).eq(targets).cpu();
    const double* loss = losses.data_ptr<double>();
    const bool* hit = hits.data_ptr<bool>();
    std::vector<guesses> all;
    for (const window& w : some) {
        guesses& g = all.emplace_back();
        g.loss.resize(w.tokens.size());
        g.hit.resize(w.tokens.size());
        for (index_t i = 1; i <= w.length(); ++i) {
            if (!is_guessable(w, i)) continue;
            g.loss[static_cast<std::size_t>(i)] = *loss++;
            g.hit[static_cast<std::size_t>(i)] = *hit++;
        }
    }
    return all;
}

void add_observations(const window& w, const guesses& g, index_t number, std::vector<observation>& to) {
    const auto add = [&](measure what, index_t distance, double value) {
        to.push_back({what, w.length(), number, distance, value});
    };
    for (const auto& [kind, begin, count, distance] : w.repeats) {
        const index_t hits = g.hits(begin, count);
        if (kind == token_kind::value) {
            add(measure::match, distance, hits == count ? 1.0 : 0.0);
            add(measure::value_loss, distance, g.mean_loss(begin, count));
        } else {
            add(measure::copy_loss, distance, g.mean_loss(begin, count));
            add(measure::copy_hit, distance, static_cast<double>(hits) / static_cast<double>(count));
        }
    }
    double sum = 0.0;
    index_t plain = 0;
    for (index_t i = 1; i <= w.length(); ++i) {
        if (w.kinds[static_cast<std::size_t>(i)] != token_kind::plain) continue;
        sum += g.loss[static_cast<std::size_t>(i)];
        ++plain;
    }
    if (plain > 0) add(measure::plain_loss, 0, sum / static_cast<double>(plain));
}

// Windows number first ... of a set.
std::vector<window> windows_of(const settings& s, const window_set& set, index_t length, index_t first, index_t count) {
    std::vector<window> some;
    for (index_t number = first; number < first + count; ++number) {
        generator draw = stream(set.seed, static_cast<std::uint64_t>(length << 32 | number));
        some.push_back(draw_window(draw, s.windows, set.text, static_cast<token>(s.model.vocabulary), length));
    }
    return some;
}

std::vector<rotary> rotations_of(const settings& s, const reading& how, index_t length) {
    const double t = cordage::ratio_at(how.schedule, s.rope(), static_cast<double>(length));
    const std::vector<double> numbers = how.numbers.empty() ? first_numbers(s, how) : how.numbers;
    return rotaries_at(s, how, at::tensor(numbers, at::kDouble), t, true_positions(length));
}

// Windows of a length that are read at once.
index_t windows_at_once(index_t length) { return std::max<index_t>(1, 2048 / length); }

}  // namespace

double searched_loss(const settings& s, const decoder& model, const reading& how, scored_tokens which,
                     const window_set& set) {
    const at::NoGradGuard no_gradients;
    const index_t length = s.learned_length(), count = s.learning.searched_windows;
    const std::vector<rotary> rotations = rotations_of(s, how, length);
    double sum = 0.0;
    index_t tokens = 0;
    for (index_t first = 0; first < count; first += windows_at_once(length)) {
        const std::vector<window> some =
            windows_of(s, set, length, first, std::min(windows_at_once(length), count - first));
        const batch b = batch_of(some, [&](const window& w, index_t i) { return is_scored(which, w, i); });
        const at::Tensor logits = model.logits(b.inputs, rotations, b.rows);
        sum += at::cross_entropy_loss(logits, b.targets, {}, at::Reduction::Sum).item<double>();
        tokens += b.targets.numel();
    }
    return sum / static_cast<double>(tokens);
}

std::vector<observation> observe(const settings& s, const decoder& model, const reading& how, const window_set& set,
                                 index_t length, index_t count, const progress_report& report) {
    const at::NoGradGuard no_gradients;
    const std::vector<rotary> rotations = rotations_of(s, how, length);
    const index_t at_once = windows_at_once(length);
    std::vector<observation> all;
    for (index_t first = 0; first < count; first += at_once) {
        const std::vector<window> some = windows_of(s, set, length, first, std::min(at_once, count - first));
        const std::vector<guesses> of_each = read(model, rotations, some);
        for (std::size_t i = 0; i < some.size(); ++i) {
            add_observations(some[i], of_each[i], first + static_cast<index_t>(i), all);
        }
        report(static_cast<double>(first + std::ssize(some)) / static_cast<double>(count));
    }
    return all;
}

std::vector<observation> evaluate(const settings& s, const decoder& model, const reading& how, const window_set& set,
                                  const progress_report& report) {
    std::vector<observation> all;
    double done = 0.0, work = 0.0;
    for (const index_t ratio : s.ratios) work += static_cast<double>(ratio * s.windows_at(ratio));
    for (const index_t ratio : s.ratios) {
        const double share = static_cast<double>(ratio * s.windows_at(ratio)) / work;
        const auto some = observe(s, model, how, set, ratio * s.train_length, s.windows_at(ratio),
                                  [&](double part) { report(done + share * part); });
        all.insert(all.end(), some.begin(), some.end());
        done += share;
    }
    return all;
}

std::vector<double> by_octave(std::span<const observation> all, measure what) {
    std::vector<double> sums(64), counts(64);
    for (const observation& o : all) {
        if (o.what != what || o.distance < 1) continue;
        const auto octave = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(o.distance)) - 1);
        sums[octave] += o.value;
        ++counts[octave];
    }
    std::vector<double> means;
    for (std::size_t k = 0; k < sums.size(); ++k) {
        if (counts[k] > 0) means.push_back(sums[k] / counts[k]);
    }
    return means;
}

}  // namespace demo
