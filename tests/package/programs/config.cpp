// SPDX-License-Identifier: MIT
// A user's program for cordage::models: the rotation of a model from its config.json.
#include <cordage/models.hpp>
#include <cstdio>

int main() {
    const auto model = cordage::hf::read_config(R"({"model_type": "llama", "head_dim": 64, "rope_theta": 500000.0,
        "max_position_embeddings": 8192, "rope_scaling": {"rope_type": "linear", "factor": 4.0}})");
    const auto& rule = model.of("");
    std::printf("%s, theta_base %g\n", rule.rope_type.c_str(), rule.config.theta_base);
    return rule.rope_type == "linear" && rule.config.theta_base == 500000.0 ? 0 : 1;
}
