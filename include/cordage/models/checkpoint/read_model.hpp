// SPDX-License-Identifier: MIT
// The rotation of a model from whatever describes it on this machine: a config.json, a params.json, a GGUF file, a
// folder, or a name in the cache of transformers (nlohmann-json).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cordage/models/checkpoint/gguf_ropes.hpp"
#include "cordage/models/config/read.hpp"

namespace cordage::hf {

/// The files of a model.
struct model_files {
    std::filesystem::path config;   ///< config.json, params.json or a GGUF file
    std::filesystem::path weights;  ///< the folder of its checkpoint, for with_weights; empty if the config's has none
};

namespace read_model_detail {

/// Where transformers keeps what it downloaded.
inline std::filesystem::path cache_folder() {
    const auto folder = [](const char* name) -> std::filesystem::path {
        const char* const value = std::getenv(name);
        return value == nullptr ? "" : value;
    };
    if (auto hub = folder("HF_HUB_CACHE"); !hub.empty()) return hub;
    if (const auto home = folder("HF_HOME"); !home.empty()) return home / "hub";
    const auto cache = folder("XDG_CACHE_HOME");
    return (cache.empty() ? folder("HOME") / ".cache" : cache) / "huggingface" / "hub";
}

/// The folder of "organisation/name" in the cache, in the revision that "main" was when it was downloaded.
inline std::filesystem::path cached_folder(const std::string& name) {
    const auto slash = name.find('/');
    const bool is_name = slash != name.npos && slash > 0 && slash + 1 < name.size() &&
                         name.find_first_of(std::string_view("/\\:\0", 4), slash + 1) == name.npos;
    if (!is_name) {
        fail<value_error>({"hf::read_model: ", in_quotes(name),
                           " must be a file, a folder, or a name 'organisation/model' in the cache of transformers"});
    }
    const auto folder = cache_folder() / ("models--" + name.substr(0, slash) + "--" + name.substr(slash + 1));
    const auto revision = json_detail::text_of_file(folder / "refs" / "main", 128);
    const std::string_view commit = revision ? std::string_view(*revision).substr(0, revision->find('\n')) : "";
    const bool is_plain = !commit.empty() && commit.find_first_not_of("0123456789abcdef") == commit.npos;
    if (!is_plain) {
        fail<value_error>({"hf::read_model: ", in_quotes(name), " must be a file or a folder, or in the cache ",
                           in_quotes(cache_folder().string()), ": download its config.json first"});
    }
    return folder / "snapshots" / commit;
}

}  // namespace read_model_detail

/// Whether a file begins as a GGUF file does.
inline bool is_gguf(const std::filesystem::path& path) {
    std::error_code ignored;  // not for pipes, whose opening would block
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    char begin[4] = {};
    std::ifstream(path, std::ios::binary).read(begin, sizeof begin);
    return std::string_view(begin, sizeof begin) == "GGUF";
}

/// The files of a model.
/// @param model  a file; a folder; or "organisation/name", if no file has this name: its folder in the cache of
///               transformers (HF_HUB_CACHE, HF_HOME/hub, or huggingface/hub in XDG_CACHE_HOME or ~/.cache). Nothing is
///               downloaded
/// @throws value_error  if there is neither, or the folder has neither a config.json nor a params.json
inline model_files files_of_model(const std::string& model) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const bool is_file = fs::exists(model, ignored) && !fs::is_directory(model, ignored);
    if (is_file && is_gguf(model)) return {model, {}};
    const fs::path folder = is_file                            ? "." / fs::path(model).parent_path()
                            : fs::is_directory(model, ignored) ? fs::path(model)
                                                               : read_model_detail::cached_folder(model);
    model_files files;
    for (const char* name : {"params.json", "config.json"}) {
        if (fs::exists(folder / name, ignored)) files.config = folder / name;
    }
    if (is_file) files.config = model;
    if (files.config.empty()) {
        fail<value_error>({"hf::read_model: folder ", in_quotes(folder.string()),
                           " must have a config.json or a params.json; name a GGUF file itself"});
    }
    for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
        if (fs::exists(folder / name, ignored)) files.weights = folder;
    }
    return files;
}

/// The rotation of a model: read_config of its config.json or params.json, or read_gguf.
///
///   const auto model = hf::read_model("Qwen/Qwen3-8B");   // or "folder", "folder/config.json", "model.gguf"
///   const auto& rule = model.of("full_attention");
///
/// Learned bases need the weights too: with_weights(hf::read_model(name), hf::files_of_model(name).weights).
/// @param model  as files_of_model
/// @throws value_error or shape_error  as files_of_model, parse_config_file, read_config and read_gguf
inline model_ropes read_model(const std::string& model, const read_options& options = {}) {
    const std::filesystem::path config = files_of_model(model).config;
    if (is_gguf(config)) return read_gguf(gguf_file(config), options);
    return read_parsed_config(parse_config_file(config.string()), options);
}

}  // namespace cordage::hf
