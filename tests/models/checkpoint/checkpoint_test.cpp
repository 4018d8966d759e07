// SPDX-License-Identifier: MIT
#include "cordage/models/checkpoint/checkpoint.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "models/checkpoint/written_files.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const std::string shard_a = safetensors_bytes({{"x", "F32", "[1]", {1.0}}, {"y", "BF16", "[1]", {2.0}}});
const std::string shard_b = safetensors_bytes({{"z", "F16", "[1]", {3.0}}});
const std::string index_text =
    R"({"metadata": {"total_size": 8}, "weight_map": {"x": "model-00001-of-00002.safetensors",
    "y": "model-00001-of-00002.safetensors", "z": "model-00002-of-00002.safetensors"}})";

void check_three(const checkpoint& from) {
    CHECK(from.names() == std::vector<std::string>{"x", "y", "z"});
    CHECK((from.has("z") && !from.has("w")));
    CHECK(from.numbers("z").data == std::vector<double>{3.0});
    CHECK(from.numbers("x").data == std::vector<double>{1.0});
    CHECK(from.numbers("y").data == std::vector<double>{2.0});
    CHECK_THROWS_WITH_AS(from.numbers("w"), "checkpoint: tensor 'w' must be in the checkpoint", value_error);
}

}  // namespace

TEST_CASE("models/checkpoint/checkpoint: one file, shards by their index, and a folder of either") {
    const temporary_folder sharded, single;
    sharded.write("model-00001-of-00002.safetensors", shard_a);
    sharded.write("model-00002-of-00002.safetensors", shard_b);
    const auto index = sharded.write("model.safetensors.index.json", index_text);
    check_three(checkpoint(index));
    check_three(checkpoint(sharded.path()));
    const auto file = single.write(
        "model.safetensors",
        safetensors_bytes({{"x", "F32", "[1]", {1.0}}, {"y", "BF16", "[1]", {2.0}}, {"z", "F16", "[1]", {3.0}}}));
    check_three(checkpoint(file));
    check_three(checkpoint(single.path()));
    const temporary_folder empty;
    CHECK_THROWS_AS(checkpoint(empty.path()), value_error);
    CHECK_THROWS_AS(checkpoint(empty.path() / "model.safetensors.index.json"), value_error);
}

TEST_CASE("models/checkpoint/checkpoint: an index names files of its own folder and no others") {
    const auto with_file = [](const std::string& file) {
        return parse_weight_map("test", R"({"weight_map": {"x": ")" + file + "\"}}");
    };
    CHECK(with_file("model-00001-of-00002.safetensors").at("x") == "model-00001-of-00002.safetensors");
    CHECK_THROWS_WITH_AS(
        with_file("../secret.safetensors"),
        "test: file '../secret.safetensors' of tensor 'x' must be a name in the index's folder, ending "
        "in .safetensors",
        value_error);
    for (const char* file : {"/etc/secret.safetensors", "a/b.safetensors", "..", ".", "", "secret.bin", ".safetensors",
                             "C:secret.safetensors", "a\\\\b.safetensors", "a\\u0000.safetensors", "a.safetensors/",
                             "..\\/..\\/secret.safetensors"}) {
        CAPTURE(file);
        CHECK_THROWS_AS(with_file(file), value_error);
    }
}

TEST_CASE("models/checkpoint/checkpoint: an invalid or hostile index is rejected") {
    for (const char* text : {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {"x": 1}})",
                             R"({"weight_map": {}, "weight_map": {}})",
                             R"({"weight_map": {"x": "a.safetensors", "x": "b.safetensors"}})"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_weight_map("test", text), value_error);
    }
    CHECK_THROWS_WITH_AS(parse_weight_map("test", "{}"), "test: index must have an object 'weight_map'", value_error);
}

TEST_CASE(
    "models/checkpoint/checkpoint: a shard that is absent, or lacks what the index promises, is named when it is "
    "needed") {
    const temporary_folder folder;
    folder.write("model-00001-of-00002.safetensors", shard_b);
    const checkpoint from(folder.write("model.safetensors.index.json", index_text));
    CHECK_THROWS_WITH_AS(from.numbers("x"),
                         "safetensors 'model-00001-of-00002.safetensors': tensor 'x' must be in the file", value_error);
    CHECK_THROWS_AS(from.numbers("z"), value_error);
}

TEST_CASE(
    "models/checkpoint/checkpoint: threads that open the shards of one checkpoint at a time get their own tensors") {
    const temporary_folder folder;
    folder.write("model-00001-of-00002.safetensors", shard_a);
    folder.write("model-00002-of-00002.safetensors", shard_b);
    folder.write("model.safetensors.index.json", index_text);
    std::atomic<int> wrong = 0;
    for (int round = 0; round < 20; ++round) {
        const checkpoint from(folder.path());
        std::vector<std::thread> threads;
        for (const auto& [name, number] : {std::pair{"x", 1.0}, {"y", 2.0}, {"z", 3.0}}) {
            threads.emplace_back([&, name = name, number = number] {
                if (from.numbers(name).data != std::vector<double>{number}) ++wrong;
            });
        }
        for (auto& thread : threads) thread.join();
    }
    CHECK(wrong == 0);
}
