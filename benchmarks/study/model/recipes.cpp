// SPDX-License-Identifier: MIT
// Numbers, steps and lines of recipes.
#include "model/recipes.hpp"

#include <algorithm>
#include <cmath>

#include "report/formatted.hpp"

namespace demo {

std::vector<double> first_numbers(const settings& s, const reading& how) {
    const std::vector<double> of_policy = how.policy.parameters();
    std::vector<double> numbers = of_policy;
    switch (how.own) {
        case own_numbers::none:
            break;
        case own_numbers::temperature_of_head:
            numbers.resize(numbers.size() + static_cast<std::size_t>(s.model.layers * s.model.heads));
            break;
        case own_numbers::all_of_layer:
            for (index_t i = 1; i < s.model.layers; ++i) {
                numbers.insert(numbers.end(), of_policy.begin(), of_policy.end());
            }
    }
    return numbers;
}

learning_step draw_step(generator& draw, const settings& s, const learned_t& range) {
    double t = range.least;
    if (range.most > t) t = std::exp(cordage::draw_real(draw, std::log(t), std::log(range.most)));
    const auto length = static_cast<index_t>(std::lround(t * static_cast<double>(s.train_length)));
    const index_t tokens = s.learning.windows * s.learned_length();
    return {static_cast<double>(length) / static_cast<double>(s.train_length), length,
            std::max<index_t>(1, tokens / length)};
}

std::string described(const settings& s, const learned_t& t) {
    const double usual = s.learning.t_learned;
    return t.least == usual && t.most == usual ? "" : formatted(" t %g,%g", t.least, t.most);
}

std::string described(const settings& s, const reading& how) {
    std::string text;
    if (how.own != own_numbers::none) text += formatted(" own %d", static_cast<int>(how.own));
    const double t = cordage::ratio_at(how.schedule, s.rope(), s.rope().original_length);
    if (t != 1.0) text += formatted(" t at L %g", t);
    return text;
}

}  // namespace demo
