// SPDX-License-Identifier: MIT
#include "cordage/models/checkpoint/read_model.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "models/checkpoint/gguf_bytes.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

constexpr const char* config = R"({"model_type": "llama", "head_dim": 64, "rope_theta": 5e5,
                                   "max_position_embeddings": 4096})";

/// Sets a variable of the environment for one test.
class variable {
 public:
    variable(const char* name, const std::string& value) : name_(name) {
        if (const char* const before = std::getenv(name)) before_ = before;
        setenv(name, value.c_str(), 1);
    }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;
    ~variable() {
        if (before_) {
            setenv(name_, before_->c_str(), 1);
        } else {
            unsetenv(name_);
        }
    }

 private:
    const char* name_;
    std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("models/checkpoint/read_model: a config.json, a params.json, a GGUF file, or a folder") {
    const temporary_folder folder;
    const auto file = folder.write("some.json", config);
    CHECK(hf::read_model(file.string()).ropes[0].config.theta_base == 5e5);
    const auto params = folder.write("params.json", R"({"dim": 512, "n_heads": 8, "rope_theta": 1e6})");
    CHECK(hf::read_model(params.string()).ropes[0].config.theta_base == 1e6);
    CHECK(hf::read_model(folder.path().string()).ropes[0].config.theta_base == 1e6);
    folder.write("config.json", config);  // preferred
    CHECK(hf::read_model(folder.path().string()).ropes[0].config.theta_base == 5e5);
    CHECK(hf::files_of_model(folder.path().string()).weights.empty());
    folder.write("model.safetensors", "x");
    CHECK(hf::files_of_model(folder.path().string()).weights == folder.path());
    CHECK(hf::files_of_model(file.string()).config == file);
    CHECK(hf::files_of_model(file.string()).weights == folder.path());  // those beside the file
    gguf_bytes b;
    b.header(0, 3).words("general.architecture", "llama").number("llama.attention.key_length", 128);
    const auto gguf = folder.write("model.bin", b.real("llama.rope.freq_base", 2e6f).all);  // known by its first bytes
    CHECK(hf::read_model(gguf.string()).ropes[0].config.theta_base == 2e6);
    CHECK(hf::files_of_model(gguf.string()).weights.empty());
}

TEST_CASE("models/checkpoint/read_model: a name in the cache of transformers") {
    const temporary_folder home;
    const variable hub("HF_HOME", home.path().string());
    const auto model = home.path() / "hub" / "models--org--name";
    std::filesystem::create_directories(model / "refs");
    std::filesystem::create_directories(model / "snapshots" / "0123abcd");
    home.write("hub/models--org--name/snapshots/0123abcd/config.json", config);
    const std::string missing = "hf::read_model: 'org/name' must be a file or a folder, or in the cache '" +
                                (home.path() / "hub").string() + "': download its config.json first";
    CHECK_THROWS_WITH_AS(hf::read_model("org/name"), missing.c_str(), value_error);
    home.write("hub/models--org--name/refs/main", "../../../etc");
    CHECK_THROWS_WITH_AS(hf::read_model("org/name"), missing.c_str(), value_error);
    home.write("hub/models--org--name/refs/main", "0123abcd\n");
    CHECK(hf::read_model("org/name").ropes[0].config.theta_base == 5e5);
    const variable own("HF_HUB_CACHE", (home.path() / "other").string());  // takes precedence
    CHECK_THROWS_AS(hf::read_model("org/name"), value_error);
}

TEST_CASE("models/checkpoint/read_model: the cache is in XDG_CACHE_HOME or ~/.cache without Hugging Face's variables") {
    const temporary_folder home;
    const variable hub("HF_HUB_CACHE", ""), hugging_face("HF_HOME", ""), user("HOME", home.path().string());
    for (const std::string cache : {"xdg", ".cache"}) {
        const std::string xdg_cache = cache == "xdg" ? (home.path() / cache).string() : "";
        const variable xdg("XDG_CACHE_HOME", xdg_cache);
        const std::string model = cache + "/huggingface/hub/models--org--name";
        std::filesystem::create_directories(home.path() / model / "refs");
        std::filesystem::create_directories(home.path() / model / "snapshots" / "0a");
        CHECK_THROWS_AS(hf::read_model("org/name"), value_error);
        home.write(model + "/refs/main", "0a");
        home.write(model + "/snapshots/0a/config.json", config);
        CHECK(hf::read_model("org/name").ropes[0].config.theta_base == 5e5);
    }
}

TEST_CASE("models/checkpoint/read_model: what is not there is named") {
    CHECK_THROWS_WITH_AS(hf::read_model("nowhere"),
                         "hf::read_model: 'nowhere' must be a file, a folder, or a name 'organisation/model' in the "
                         "cache of transformers",
                         value_error);
    for (const char* name : {"org/../x", "a/b/c", "/model", "org/", "org/a:b", "org/a\\b"}) {
        CHECK_THROWS_WITH_AS(hf::read_model(name), doctest::Contains("must be a file, a folder, or a name"),
                             value_error);
    }
    CHECK_THROWS_AS(hf::read_model("../model"), value_error);
    const temporary_folder empty;
    const auto pipe = empty.path() / "pipe";  // to open it would block
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(hf::read_model(pipe.string()), doctest::Contains("must be a readable file"), value_error);
    CHECK_THROWS_WITH_AS(hf::read_model(empty.path().string()),
                         ("hf::read_model: folder '" + empty.path().string() +
                          "' must have a config.json or a params.json; name a GGUF file itself")
                             .c_str(),
                         value_error);
}
