// SPDX-License-Identifier: MIT
#include "cordage/models/checkpoint/gguf.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "models/checkpoint/gguf_bytes.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

gguf_bytes good_file() {
    gguf_bytes b;
    b.header(2, 5).words("general.architecture", "llama").number("llama.block_count", 30);
    b.real("llama.rope.freq_base", 1e5f).flags("llama.attention.sliding_window_pattern", {true, false, true});
    b.text("tokenizer.ggml.tokens").bytes(array, 4).bytes(string, 4).bytes(2, 8).text("a").text("bc");
    b.tensor("factors", {3}, 0, 0).tensor("halves", {1, 2}, 1, 32).aligned();
    b.floats({1.0f, 2.0f, 0.5f}).aligned();
    return b.bytes(0x3c00, 2).bytes(0x4000, 2);
}

std::string one_tensor(const std::vector<std::uint64_t>& extents, std::uint32_t type, std::uint64_t offset) {
    gguf_bytes b;
    b.header(1, 0).tensor("x", extents, type, offset).aligned().floats({1.0f, 2.0f});
    try {
        b.file().values("x");
    } catch (const value_error& why) {
        return why.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST_CASE("models/checkpoint/gguf: numbers, truth values, strings and tensors of floats are read") {
    const gguf_file file = good_file().file();
    CHECK(file.texts().at("general.architecture") == "llama");
    CHECK(file.count("llama.block_count") == 30);
    CHECK(file.number("llama.rope.freq_base") == 1e5);
    CHECK(file.numbers().at("llama.attention.sliding_window_pattern") == std::vector<double>{1.0, 0.0, 1.0});
    CHECK(!file.number("tokenizer.ggml.tokens"));
    CHECK(!file.number("llama.x"));
    CHECK(file.values("factors") == std::vector<double>{1.0, 2.0, 0.5});
    CHECK(file.tensor("halves").shape == std::vector<index_t>{2, 1});
    CHECK(file.values("halves") == std::vector<double>{1.0, 2.0});
    CHECK_THROWS_WITH_AS(file.values("x"), "test: tensor 'x' must be in the file", value_error);
}

TEST_CASE("models/checkpoint/gguf: a file cut anywhere is refused") {
    const std::string whole = good_file().all;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        gguf_bytes cut;
        cut.all = whole.substr(0, size);
        const auto read = [&] {
            const gguf_file file = cut.file();
            file.values("factors"), file.values("halves");
        };
        CHECK_THROWS_AS(read(), value_error);
    }
}

TEST_CASE("models/checkpoint/gguf: hostile counts, types and offsets are refused") {
    constexpr std::uint64_t huge = std::uint64_t{1} << 62;
    gguf_bytes wrong;
    wrong.all = std::string(32, 'x');
    CHECK(wrong.refusal() == "test: the file must begin with GGUF");
    CHECK(gguf_bytes().header(0, 0, 1).refusal() == "test: version 1 must be 2 or 3, little-endian");
    CHECK(gguf_bytes().header(huge, 0).refusal() == "test: tensors 4611686018427387904 must be at most 262144");
    CHECK(gguf_bytes().header(0, huge).refusal() == "test: keys 4611686018427387904 must be at most 262144");
    CHECK(gguf_bytes().header(1000, 0).refusal() == "test: the file must not end within a value");
    CHECK(gguf_bytes().header(0, 1).bytes(~std::uint64_t{0}, 8).refusal() ==
          "test: the file must not end within a value");
    CHECK(gguf_bytes().header(0, 1).text("x").bytes(99, 4).bytes(0, 8).refusal() ==
          "test: key 'x' of type 99 must be of a known type");
    for (const std::uint32_t type : {uint8, uint64, string}) {
        CHECK(gguf_bytes().header(0, 1).text("x").bytes(array, 4).bytes(type, 4).bytes(huge, 8).refusal() ==
              "test: the file must not end within a value");
    }
    CHECK(gguf_bytes().header(0, 1).text("x").bytes(array, 4).bytes(array, 4).bytes(1, 8).refusal() ==
          "test: key 'x' of type 9 must be of a known type");
    CHECK(gguf_bytes().header(0, 2).number("x", 1).words("x", "y").refusal() == "test: key 'x' must occur once");
    // Once, keys of arrays that are not kept were not counted.
    const std::vector<std::uint32_t> many(5000, 7);
    CHECK(gguf_bytes().header(0, 2).numbers("x", many).number("x", 1).refusal() == "test: key 'x' must occur once");
    CHECK(gguf_bytes().header(0, 2).numbers("x", many).numbers("x", many).refusal() == "test: key 'x' must occur once");
    CHECK(gguf_bytes().header(2, 0).tensor("x", {1}, 0, 0).tensor("x", {1}, 0, 0).refusal() ==
          "test: tensor 'x' must occur once");
    CHECK(gguf_bytes().header(0, 1).number("general.alignment", 0).refusal() ==
          "test: general.alignment 0 must be 1 to 65536");
    CHECK(gguf_bytes().header(0, 1).number("general.alignment", 3).file().numbers().size() == 1);

    CHECK(one_tensor({2}, 0, 0) == "nothing was thrown");
    CHECK(one_tensor({}, 0, 0) == "test: tensor 'x' of 0 axes must have 1 to 4");
    CHECK(one_tensor({1, 1, 1, 1, 1}, 0, 0) == "test: tensor 'x' of 5 axes must have 1 to 4");
    CHECK(one_tensor({0}, 0, 0) == "test: tensor 'x' extent 0 must be 1 to 2^31");
    CHECK(one_tensor({huge}, 0, 0) == "test: tensor 'x' extent 4611686018427387904 must be 1 to 2^31");
    CHECK(one_tensor({1u << 30, 1u << 30, 1u << 30, 1u << 30}, 0, 0) == "test: tensor 'x' must end within the file");
    CHECK(one_tensor({2}, 12, 0) == "test: tensor 'x' of type 12 must be F32 or F16");
    CHECK(one_tensor({2}, 0, 4) == "test: tensor 'x' must end within the file");
    CHECK(one_tensor({2}, 0, ~std::uint64_t{0}) == "test: tensor 'x' must begin within the file");
    CHECK_THROWS_WITH_AS(gguf_file(std::filesystem::path("no/such.gguf")),
                         "gguf: path 'no/such.gguf' must be a readable file", value_error);
}

TEST_CASE("models/checkpoint/gguf: numbers of every type of the format") {
    struct written {
        std::uint32_t type;
        std::uint64_t bits;
        std::size_t size;
        double value;
    };
    const written all[] = {{0, 200, 1, 200.0},
                           {1, 200, 1, -56.0},
                           {2, 40000, 2, 40000.0},
                           {3, 40000, 2, -25536.0},
                           {4, 3000000000, 4, 3e9},
                           {5, 3000000000, 4, 3e9 - 0x1p32},
                           {6, 0x3fc00000, 4, 1.5},
                           {7, 1, 1, 1.0},
                           {10, std::uint64_t{1} << 63, 8, 0x1p63},
                           {11, std::uint64_t{1} << 63, 8, -0x1p63},
                           {12, 0x3ff8000000000000, 8, 1.5}};
    gguf_bytes b;
    b.header(0, std::size(all) + 1);
    for (const written& each : all) {
        b.text(std::to_string(each.type)).bytes(each.type, 4).bytes(each.bits, each.size);
    }
    const gguf_file file = b.number("last", 9).file();
    for (const written& each : all) CHECK(file.number(std::to_string(each.type)) == each.value);
    CHECK(file.number("last") == 9.0);
}

TEST_CASE("models/checkpoint/gguf: a count that is not one is refused") {
    const gguf_file file = gguf_bytes().header(0, 2).real("half", 0.5f).number("none", 0).file();
    CHECK_THROWS_WITH_AS(file.count("half"), "test: half 0.5 must be an integer in 1 ... 2^31", value_error);
    CHECK_THROWS_WITH_AS(file.count("none"), "test: none 0 must be an integer in 1 ... 2^31", value_error);
}

TEST_CASE("models/checkpoint/gguf: long arrays are skipped, and a long string is one read") {
    gguf_bytes b;
    b.header(0, 4).numbers("long", std::vector<std::uint32_t>(5000, 7));
    b.words("template", std::string(200000, 't')).numbers("short", {1, 2}).number("last", 9);
    const gguf_file file = b.file();
    CHECK(!file.number("long"));
    CHECK(file.texts().at("template").size() == 200000);
    CHECK(file.numbers().at("short") == std::vector<double>{1.0, 2.0});
    CHECK(file.number("last") == 9.0);
}
