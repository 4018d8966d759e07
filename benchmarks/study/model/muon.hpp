// SPDX-License-Identifier: MIT
// The optimisers of a decoder's weights: Muon for its matrices, AdamW for the rest.
#pragma once

#include <ATen/ATen.h>
#include <torch/optim/adamw.h>

#include <vector>

#include "model/model.hpp"

namespace demo {

/// Muon (Jordan et al. 2024): W -= rate sqrt(max(1, rows / columns)) orthogonal(momentum), with Nesterov's momentum
/// 0.95, for each matrix of decoder::matrices() separately. orthogonal() is five steps of the Newton-Schulz iteration
/// as in the authors' code, after which singular values are between about 0.7 and 1.2. The embedding and the gains are
/// trained by AdamW without decay.
class weight_optimizer {
 public:
    explicit weight_optimizer(const decoder& model);

    /// One step with the gradients of the parameters, which are then cleared.
    void step(double matrix_rate, double other_rate);

 private:
    // Matrices of one shape, orthogonalised in one call.
    struct alike {
        std::vector<at::Tensor> weights;                    // views [rows, columns]
        std::vector<std::pair<std::size_t, index_t>> from;  // parameter and first row of each
        at::Tensor momentum;                                // [count, rows, columns]
    };

    std::vector<at::Tensor> parameters_;
    std::vector<alike> groups_;
    std::vector<bool> is_matrix_;
    torch::optim::AdamW adam_;
};

}  // namespace demo
