// SPDX-License-Identifier: MIT
// The tensors of a model by name, from one safetensors file or from shards with an index (nlohmann-json).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cordage/models/checkpoint/safetensors.hpp"

namespace cordage {

/// "weight_map" of a model.safetensors.index.json: the file of each tensor.
/// @throws value_error  unless text is strict JSON with a "weight_map" to plain file names ending in ".safetensors",
///                      without a path
inline std::map<std::string, std::string> parse_weight_map(const std::string& who, std::string_view text) {
    const nlohmann::json index = json_detail::parse_strict_json(who, text);
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
        fail<value_error>({who, ": index must have an object 'weight_map'"});
    }
    std::map<std::string, std::string> files;
    for (const auto& [tensor, file] : index["weight_map"].items()) {
        if (!file.is_string()) fail<value_error>({who, ": file of tensor ", in_quotes(tensor), " must be a string"});
        const auto name = file.get<std::string>();
        constexpr std::string_view forbidden("/\\:\0", 4);
        if (name.find_first_of(forbidden) != name.npos || name.starts_with('.') || !name.ends_with(".safetensors")) {
            fail<value_error>({who, ": file ", in_quotes(name), " of tensor ", in_quotes(tensor),
                               " must be a name in the index's folder, ending in .safetensors"});
        }
        files.emplace(tensor, name);
    }
    return files;
}

/// The tensors of a model in any number of files. A shard is opened, once, when one of its tensors is first read. Safe
/// for reads by several threads.
class checkpoint {
 public:
    /// @param path  a .safetensors file; an index of shards, ending in .json; or a folder that holds
    ///              model.safetensors.index.json or model.safetensors
    /// @throws value_error  as safetensors_file and parse_weight_map
    explicit checkpoint(const std::filesystem::path& path) : folder_(path.parent_path()) {
        namespace fs = std::filesystem;
        std::error_code ignored;
        if (fs::is_directory(path, ignored)) {
            const fs::path index = path / "model.safetensors.index.json";
            *this = checkpoint(fs::exists(index, ignored) ? index : path / "model.safetensors");
        } else if (path.extension() == ".json") {
            file_of_ = parse_weight_map(message("checkpoint ", in_quotes(path.filename().string())), index_text(path));
        } else {
            *this = checkpoint(safetensors_file(path));
        }
    }
    explicit checkpoint(safetensors_file file) {
        for (const auto& [name, entry] : file.entries()) file_of_.emplace(name, "");
        shards_.emplace("", std::move(file));
    }

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& [name, file] : file_of_) all.push_back(name);
        return all;
    }
    bool has(const std::string& name) const { return file_of_.contains(name); }

    /// A tensor, converted to double.
    /// @throws value_error  as safetensors_file and its numbers(); if the index or the shard lacks the tensor
    safetensors_numbers numbers(const std::string& name) const {
        const auto found = file_of_.find(name);
        if (found == file_of_.end()) {
            fail<value_error>({"checkpoint: tensor ", in_quotes(name), " must be in the checkpoint"});
        }
        return shard(found->second).numbers(name);
    }

 private:
    const safetensors_file& shard(const std::string& file) const {
        const std::lock_guard one_at_a_time(*opening_);
        const auto opened = shards_.find(file);
        return opened != shards_.end() ? opened->second
                                       : shards_.emplace(file, safetensors_file(folder_ / file)).first->second;
    }

    static std::string index_text(const std::filesystem::path& path) {
        constexpr auto largest = safetensors_file::longest_header;
        if (auto text = json_detail::text_of_file(path, largest)) return *std::move(text);
        fail<value_error>({"checkpoint: index ", in_quotes(path.string()), " must be a readable file of at most ",
                           largest, " bytes"});
    }

    std::filesystem::path folder_;
    std::map<std::string, std::string> file_of_;              // tensor -> shard; "" is the only file
    mutable std::map<std::string, safetensors_file> shards_;  // the opened ones
    std::unique_ptr<std::mutex> opening_ = std::make_unique<std::mutex>();
};

}  // namespace cordage
