// SPDX-License-Identifier: MIT
// Drawing places and gaps.
#include "smollm2/windows.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <stdexcept>

#include "cordage/positions/sampler.hpp"

namespace demo {
namespace {

index_t draw_index(generator& draw, index_t count) {
    return static_cast<index_t>(cordage::draw_below(draw, static_cast<std::uint64_t>(count)));
}

}  // namespace

chunk_window draw_chunks(generator& draw, std::span<const token> tokens, index_t context, const chunk_shape& shape) {
    const index_t length = std::ssize(tokens), cuts = shape.chunks - 1, places = length - shape.last - shape.first;
    if (cuts < 1 || places < cuts || context < length) {
        throw std::runtime_error("demo: a window of " + std::to_string(length) + " tokens in a context of " +
                                 std::to_string(context) + " has no room for its chunks");
    }
    std::set<index_t> cut;
    while (std::ssize(cut) < cuts) cut.insert(shape.first + draw_index(draw, places));
    // Uniform shares: exponential numbers over their sum.
    std::vector<double> until{0.0};
    for (index_t i = 0; i < cuts; ++i) until.push_back(until.back() - std::log(cordage::draw_real(draw, 1.0, 0.0)));
    chunk_window made{{tokens.begin(), tokens.end()}, {}};
    std::size_t passed = 0;
    for (index_t i = 0; i < length; ++i) {
        if (cut.contains(i)) ++passed;
        const double share = until[passed] / until.back();
        made.position_ids.push_back(i + std::llround(share * static_cast<double>(context - length)));
    }
    return made;
}

chunk_window draw_with_copy(generator& draw, std::span<const token> text, index_t length, index_t again,
                            index_t context, const chunk_shape& shape) {
    const index_t places = std::ssize(text) - length + 1, sources = length - shape.last - again;
    if (places < 1 || sources < 1 || again > shape.last) throw std::runtime_error("demo: too few tokens for a window");
    const auto begin = text.begin() + draw_index(draw, places);
    std::vector<token> tokens(begin, begin + length);
    std::copy_n(tokens.begin() + draw_index(draw, sources), again, tokens.end() - again);
    return draw_chunks(draw, tokens, context, shape);
}

std::vector<token> read_tokens(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (bytes.empty() || bytes.size() % 2 != 0)
        throw std::runtime_error("demo: cannot read tokens in " + file.string());
    std::vector<token> tokens;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        const auto low = static_cast<unsigned char>(bytes[i]), high = static_cast<unsigned char>(bytes[i + 1]);
        tokens.push_back(static_cast<token>(low + 256 * high));
    }
    return tokens;
}

}  // namespace demo
