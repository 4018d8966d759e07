// SPDX-License-Identifier: MIT
// Results of recipes for image and video models. Each line of stdin is {"recipe": ..., "shape": [tokens, heads,
// head_dim]}; each line of stdout is {"y": [...], "largest_angle": ...}, numbers with 17 digits.
#include <cstdio>
#include <iostream>
#include <string>

#include "../conformance/image_recipe.hpp"

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        const auto asked = nlohmann::json::parse(line);
        const auto sizes = asked.at("shape").get<std::vector<cordage::index_t>>();
        const cordage::heads_shape shape{.tokens = sizes.at(0), .heads = sizes.at(1), .head_dim = sizes.at(2)};
        const conformance::value recipe(asked.at("recipe"), "recipe");
        const auto out = conformance::rotated_by(recipe, shape, conformance::recipe_input(shape));
        std::cout << nlohmann::json{{"y", out.y}, {"largest_angle", out.largest_angle}}.dump() << '\n';
    }
    return 0;
}
