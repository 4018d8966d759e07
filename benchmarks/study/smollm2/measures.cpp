// SPDX-License-Identifier: MIT
// Documents, chunks, pass keys and learning, by the frozen model.
#include "smollm2/measures.hpp"

#include <ATen/Parallel.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "cordage/basis/basis.hpp"
#include "cordage/host/aten/autograd.hpp"
#include "cordage/positions/sampler.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "model/learning.hpp"
#include "model/products.hpp"
#include "smollm2/llama.hpp"

namespace demo {
namespace {

// Ids of the model's vocabulary: " The pass key is 01234. Remember it. 01234 is the pass key." and the question.
const std::vector<token> key_is{378, 1301, 1646, 314, 216}, remember{30, 5258, 357, 30, 216},
    is_the_key{314, 260, 1301, 1646, 30}, what_is{1812, 314, 260, 1301, 1646, 47, 378, 1301, 1646, 314, 216};
constexpr token zero = 32;
constexpr std::size_t digits = 5;
constexpr index_t question_tokens = 16;  // with the answer; they have a place behind a window

constexpr std::uint64_t heldout_stream = 17, learning_stream = 7, dev_stream = 27, document_stream = 37;
constexpr index_t copied_tokens = 64;  // at the end of a window of learning

std::vector<token> joined(const std::vector<std::vector<token>>& parts) {
    std::vector<token> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

at::Tensor ids_of(std::span<const token> tokens) {
    const std::vector<index_t> wide(tokens.begin(), tokens.end());
    return at::tensor(wide, at::kLong);
}

std::vector<double> numbers_of(const at::Tensor& x) {
    const at::Tensor flat = x.to(at::kDouble).contiguous();
    return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// Tokens first ... last - 1 of a cache.
kv_cache slice(const kv_cache& from, index_t first, index_t last) {
    kv_cache made{{}, {}, from.position_ids.slice(0, first, last)};
    for (const at::Tensor& k : from.keys) made.keys.push_back(k.slice(0, first, last));
    for (const at::Tensor& v : from.values) made.values.push_back(v.slice(0, first, last));
    return made;
}

kv_cache joined(const std::array<kv_cache, 3>& parts) {
    const auto all = [&](auto&& tensor_of) {
        return at::cat({tensor_of(parts[0]), tensor_of(parts[1]), tensor_of(parts[2])});
    };
    kv_cache made{{}, {}, all([](const kv_cache& c) { return c.position_ids; })};
    for (std::size_t i = 0; i < parts[0].keys.size(); ++i) {
        made.keys.push_back(all([i](const kv_cache& c) { return c.keys[i]; }));
        made.values.push_back(all([i](const kv_cache& c) { return c.values[i]; }));
    }
    return made;
}

rotation rotation_of(const rule& by, const cordage::rope_config& rope, index_t context) {
    const cordage::basis b = cordage::make_basis(rope, by.policy, by.t_at(context));
    const std::vector<double> numbers(b.inv_freq().begin(), b.inv_freq().end());
    return {at::tensor(numbers, at::kDouble), at::scalar_tensor(b.attention_factor(), at::kDouble)};
}

}  // namespace

struct measured_model::parts {
    llama model;
    std::filesystem::path texts;

    std::vector<token> text(const char* name) const { return read_tokens(texts / (std::string(name) + ".u16")); }

    // Mean loss of the last tokens of a window, whose tokens before them go to `kept` and have no gradient.
    at::Tensor last_loss(const chunk_window& w, index_t last, const rotation& by, kv_cache* kept) const {
        const at::Tensor tokens = ids_of(w.tokens), ids = at::tensor(w.position_ids, at::kLong);
        const index_t first = tokens.size(0) - last - 1;  // it predicts the first of the last tokens
        kv_cache past;
        {
            const at::NoGradGuard no_gradient;
            model.hidden(tokens.slice(0, 0, first), ids.slice(0, 0, first), by, {}, &past);
        }
        const at::Tensor hidden = model.hidden(tokens.slice(0, first), ids.slice(0, first), by, past, kept);
        return model.losses(hidden.slice(0, 0, last), tokens.slice(0, first + 1)).nats.mean();
    }

    // Losses of a key's digits. Its sentence takes the place of as many tokens of the cache; those behind it have not
    // seen it. The question stands at the end.
    token_losses asked(const kv_cache& kept, index_t place, std::span<const token> key, const rotation& by) const {
        const std::vector<token> number(key.begin(), key.end());
        const at::Tensor sentence = ids_of(joined({key_is, number, remember, number, is_the_key}));
        const index_t behind = place + sentence.size(0), end = kept.position_ids.size(0);
        const kv_cache before = slice(kept, 0, place);
        kv_cache with;
        model.hidden(sentence, kept.position_ids.slice(0, place, behind), by, before, &with);
        const kv_cache all = joined({before, slice(with, place, behind), slice(kept, behind, end)});
        const at::Tensor question = ids_of(joined({what_is, number}));
        const at::Tensor ids = kept.position_ids[end - 1] + 1 + at::arange(question.size(0), at::kLong);
        const at::Tensor hidden = model.hidden(question, ids, by, all);
        const index_t asked_from = question.size(0) - static_cast<index_t>(digits);
        return model.losses(hidden.slice(0, asked_from - 1, -1), question.slice(0, asked_from));
    }

    // Keys at random places of the first `room` tokens of a cache, each alone; the question stands at the end.
    void ask_keys(generator& draw, const kv_cache& kept, index_t room, index_t keys, const rotation& by,
                  index_t context, index_t window, std::vector<observation>& seen) const {
        for (index_t k = 0; k < keys; ++k) {
            std::array<token, digits> key;
            for (token& digit : key) digit = static_cast<token>(zero + cordage::draw_below(draw, 10));
            const auto place = static_cast<index_t>(cordage::draw_below(draw, static_cast<std::uint64_t>(room)));
            const token_losses answer = asked(kept, place, key, by);
            const index_t distance =
                kept.position_ids[-1].item<index_t>() + 1 - kept.position_ids[place].item<index_t>();
            seen.push_back({measure::match, context, window, distance, answer.is_first.all().item<bool>() ? 1.0 : 0.0});
            seen.push_back({measure::value_loss, context, window, distance, answer.nats.mean().item<double>()});
        }
    }
};

measured_model::measured_model(const std::filesystem::path& model, std::filesystem::path texts)
    : own_(new parts{llama(model, has_bfloat16_products()), std::move(texts)}) {
    at::set_num_threads(1);
}
measured_model::~measured_model() = default;

const cordage::rope_config& measured_model::rope() const { return own_->model.config().rope; }

std::vector<float> measured_model::logits(index_t count) const {
    const at::NoGradGuard no_gradient;
    const auto by = rotation_of({"", "", cordage::unscaled{}, rope().original_length}, rope(), count);
    const std::vector<token> text = own_->text("document_rust");
    const at::Tensor tokens = ids_of(text).slice(0, 0, count);
    const at::Tensor made =
        own_->model.logits(own_->model.hidden(tokens, at::arange(count, at::kLong), by)).contiguous();
    return {made.data_ptr<float>(), made.data_ptr<float>() + made.numel()};
}

double measured_model::seconds_of_block() const {
    const auto begin = std::chrono::steady_clock::now();
    logits(block_tokens / 4);
    return 4.0 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<observation> measured_model::document(const rule& by, index_t window,
                                                  const measuring_report& report) const {
    const at::NoGradGuard no_gradient;
    const rotation rotates = rotation_of(by, rope(), window);
    const std::vector<token> text = own_->text("document_rust");
    if (std::ssize(text) < window) throw std::runtime_error("demo: the document is shorter than the window");
    const at::Tensor tokens = ids_of(text).slice(0, 0, window);
    std::vector<observation> seen;
    kv_cache kept;
    for (index_t first = 0; first < window; first += block_tokens) {
        const index_t end = std::min(window, first + block_tokens), targets = std::min(window - 1, end);
        kv_cache next;
        const at::Tensor hidden =
            own_->model.hidden(tokens.slice(0, first, end), at::arange(first, end, at::kLong), rotates, kept, &next);
        kept = std::move(next);
        const at::Tensor nats =
            own_->model.losses(hidden.slice(0, 0, targets - first), tokens.slice(0, first + 1, targets + 1)).nats;
        seen.push_back({measure::plain_loss, window, 0, first, nats.mean().item<double>()});
        // Attention to all before: about as much as the matrices at 6000 tokens.
        const auto cost = [](index_t n) { return static_cast<double>(n) * (1.0 + static_cast<double>(n) / 12000.0); };
        report(cost(end) / cost(window), seen);
    }
    return seen;
}

std::vector<observation> measured_model::chunks(const rule& by, index_t context, index_t windows, index_t keys,
                                                const measuring_report& report) const {
    const at::NoGradGuard no_gradient;
    const chunk_shape shape;
    const std::array texts{own_->text("heldout_kjv"), own_->text("heldout_rust")};
    const rotation rotates = rotation_of(by, rope(), context);
    const index_t end = context - question_tokens;
    std::vector<observation> seen;
    for (index_t i = 0; i < windows; ++i) {
        generator draw = stream(heldout_stream, static_cast<std::uint64_t>(i));
        const std::vector<token>& text = texts[static_cast<std::size_t>(i % 2)];
        const index_t first = i / 2 * chunk_tokens;
        if (first + chunk_tokens > std::ssize(text)) throw std::runtime_error("demo: too little held-out text");
        const auto tokens = std::span(text).subspan(static_cast<std::size_t>(first), chunk_tokens);
        const chunk_window w = draw_chunks(draw, tokens, end, shape);
        kv_cache kept;
        const double loss = own_->last_loss(w, shape.last, rotates, &kept).item<double>();
        seen.push_back({measure::plain_loss, context, i, 0, loss});
        own_->ask_keys(draw, kept, chunk_tokens - 2 * shape.last, keys, rotates, context, i, seen);
        report(static_cast<double>(i + 1) / static_cast<double>(windows), seen);
    }
    return seen;
}

std::vector<observation> measured_model::end_of_document(const rule& by, const std::string& name, index_t number,
                                                         index_t window, index_t context, index_t keys) const {
    const at::NoGradGuard no_gradient;
    const rotation rotates = rotation_of(by, rope(), context);
    const std::vector<token> text = own_->text(name.c_str());
    if (std::ssize(text) < window) throw std::runtime_error("study: " + name + " is shorter than the window");
    const index_t count = context - question_tokens, before = count - counted_tokens - 1;
    const at::Tensor tokens = ids_of(text).slice(0, window - context, window - question_tokens);
    kv_cache kept;
    for (index_t first = 0; first < before; first += block_tokens) {
        const index_t end = std::min(before, first + block_tokens);
        kv_cache next;
        own_->model.hidden(tokens.slice(0, first, end), at::arange(first, end, at::kLong), rotates, kept, &next);
        kept = std::move(next);
    }
    kv_cache all;
    const at::Tensor hidden =
        own_->model.hidden(tokens.slice(0, before), at::arange(before, count, at::kLong), rotates, kept, &all);
    kept = {};
    const token_losses last = own_->model.losses(hidden.slice(0, 0, -1), tokens.slice(0, before + 1));
    std::vector<observation> seen{
        {measure::plain_loss, context, number, 0, last.nats.mean().item<double>()},
        {measure::plain_hit, context, number, 0, last.is_first.to(at::kDouble).mean().item<double>()}};
    generator draw = stream(document_stream, static_cast<std::uint64_t>(number));
    own_->ask_keys(draw, all, before - block_tokens, keys, rotates, context, number, seen);
    return seen;
}

std::vector<observation> measured_model::judged(const rule& by, index_t context) const {
    const at::NoGradGuard no_gradient;
    const rotation rotates = rotation_of(by, rope(), context);
    const chunk_shape shape;
    const std::array texts{own_->text("dev_kjv"), own_->text("dev_python")};
    std::vector<observation> seen;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        generator draw = stream(dev_stream, i);
        const chunk_window chunks = draw_with_copy(draw, texts[i], chunk_tokens, copied_tokens, context, shape),
                           dense = draw_with_copy(draw, texts[i], dense_tokens, 0, dense_tokens, shape);
        for (const chunk_window* w : {&chunks, &dense}) {
            const double loss = own_->last_loss(*w, shape.last, rotates, nullptr).item<double>();
            seen.push_back({measure::plain_loss, context, static_cast<index_t>(w == &dense ? i + 2 : i), 0, loss});
        }
    }
    return seen;
}

std::pair<rule, std::vector<observation>> measured_model::learned(const rule& start,
                                                                  const measuring_report& report) const {
    const auto leaf = [](const std::vector<double>& values) {
        return at::tensor(values, at::kDouble).requires_grad_(true);
    };
    const std::vector<double> first = start.policy.parameters();
    const std::vector<at::Tensor> numbers{leaf({first.begin(), first.end() - 2}), leaf({first.end() - 2, first.end()})};
    const std::vector<torch::optim::OptimizerParamGroup> groups{std::vector{numbers[0]}, std::vector{numbers[1]}};
    torch::optim::Adam adam(groups, torch::optim::AdamOptions().betas({0.9, 0.95}));
    const std::array texts{own_->text("train_kjv"), own_->text("train_python")};
    const rule_learning& how = start.learning;
    const chunk_shape shape;
    generator draw = stream(learning_stream, how.seed);
    std::vector<observation> seen;
    for (index_t step = 0; step < how.steps; ++step) {
        const double low = std::log(static_cast<double>(how.least)), high = std::log(static_cast<double>(how.most));
        const index_t context = std::llround(std::exp(cordage::draw_real(draw, low, high)));
        const auto& text = texts[static_cast<std::size_t>(step % 2)];
        std::vector<chunk_window> windows{draw_with_copy(draw, text, chunk_tokens, copied_tokens, context, shape)};
        if (how.has_dense) windows.push_back(draw_with_copy(draw, text, dense_tokens, 0, dense_tokens, shape));
        double sum = 0.0;
        for (const chunk_window& w : windows) {  // one at a time, as their scores fill the memory
            const auto basis = cordage::aten::basis_of(start.policy, rope(), at::cat(numbers), start.t_at(context));
            const at::Tensor loss = own_->last_loss(w, shape.last, {basis.inv_freq, basis.attention_factor}, nullptr);
            (loss / static_cast<double>(windows.size())).backward();
            sum += loss.item<double>();
        }
        const double factor = rate_factor(step, how.steps, static_cast<double>(how.steps) / 10.0 - 1.0);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const double rate = i == 0 ? how.rate : how.temperature_rate;
            static_cast<torch::optim::AdamOptions&>(adam.param_groups()[i].options()).lr(rate * factor);
        }
        adam.step();
        adam.zero_grad();
        seen.push_back({measure::plain_loss, context, 0, step, sum / static_cast<double>(windows.size())});
        report(static_cast<double>(step + 1) / static_cast<double>(how.steps), seen);
    }
    rule made = start;
    made.policy = start.policy.with_parameters(numbers_of(at::cat(numbers).detach()));
    return {made, seen};
}

}  // namespace demo
