// SPDX-License-Identifier: MIT
// Includes what is known of models: the rules in their configs and checkpoints, positions of their images, videos and
// audio, and their learned temperatures. Component cordage::models; needs nlohmann-json.
//
//   config.json, GGUF, safetensors -> layer_rope: rope_config, policy, schedule, ... -> layer_rotation: rotated q and k
//
// It has a promise of stability of its own (docs/versioning.md), as models and their code change every month.
#pragma once

// models/config: a config.json -> the rule of each layer, and its rotation
#include "cordage/models/config/layer_rotation.hpp"
#include "cordage/models/config/multimodal.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/models/config/tower.hpp"

// models/checkpoint: files of weights -> the same rules, and their learned parameters
#include "cordage/models/checkpoint/read_model.hpp"
#include "cordage/models/checkpoint/with_weights.hpp"

// models/positions: positions of images, videos, audio and latents
#include "cordage/models/positions/latent_positions.hpp"
#include "cordage/models/positions/multimodal.hpp"

// learned temperatures of heads
#include "cordage/models/head_temperatures.hpp"
