// SPDX-License-Identifier: MIT
#include "cordage/models/checkpoint/safetensors.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include "message_of_error.hpp"
#include "models/checkpoint/written_files.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

safetensors_file opened(const std::string& bytes) {
    return safetensors_file(std::make_unique<std::istringstream>(bytes), "test");
}
/// The message with which a file is rejected.
std::string refusal(const std::string& bytes) {
    return cordage_test::message_of_error<value_error>([&] { opened(bytes); });
}
/// As above, for a header over some bytes of data.
std::string refusal(const std::string& header, std::size_t data) {
    return refusal(safetensors_bytes(header, std::string(data, 'x')));
}
std::string entry(const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"a": {"dtype": ")") + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" + offsets +
           "}}";
}

/// A stream during whose seeking other threads run.
class interrupted_stream : public std::istream {
 public:
    explicit interrupted_stream(const std::string& bytes) : std::istream(nullptr), bytes_(bytes) { rdbuf(&bytes_); }

 private:
    struct buffer : std::stringbuf {
        explicit buffer(const std::string& bytes) : std::stringbuf(bytes, std::ios::in) {}
        pos_type seekpos(pos_type place, std::ios::openmode which) override {
            const pos_type found = std::stringbuf::seekpos(place, which);
            for (int i = 0; i < 10; ++i) std::this_thread::yield();
            return found;
        }
    };
    buffer bytes_;
};

}  // namespace

TEST_CASE("models/checkpoint/safetensors: F64, F32, F16 and BF16 are widened exactly, with their shapes") {
    const std::vector<double> numbers{1.0, -0.5, 0.0, 3.140625, -1024.0, 0x1p-14};
    for (const char* dtype : {"F64", "F32", "F16", "BF16"}) {
        const auto file = opened(safetensors_bytes(
            {{"first", "F32", "[]", {7.5}}, {"x", dtype, "[2, 3]", numbers}, {"none", "F16", "[0, 4]", {}}}));
        CHECK(file.entries().size() == 3);
        CHECK(file.entries().at("x").dtype == dtype);
        const auto found = file.numbers("x");
        CHECK(found.shape == std::vector<std::uint64_t>{2, 3});
        CHECK(found.data == numbers);
        CHECK(file.numbers("first").data == std::vector<double>{7.5});
        CHECK(file.numbers("none").data.empty());
        CHECK(file.numbers("x").data == numbers);  // again, in any order
    }
    const auto odd =
        opened(
            safetensors_bytes({{"x",
                                "F32",
                                "[2]",
                                {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}}}))
            .numbers("x")
            .data;
    CHECK((std::isnan(odd[0]) && odd[1] == -std::numeric_limits<double>::infinity()));
}

TEST_CASE("models/checkpoint/safetensors: a file on disk is read as a stream is, and an invalid path is named") {
    const temporary_folder folder;
    const auto path = folder.write("w.safetensors", safetensors_bytes({{"x", "F32", "[1]", {2.5}}}));
    CHECK(safetensors_file(path).numbers("x").data == std::vector<double>{2.5});
    CHECK_THROWS_AS(safetensors_file(folder.path() / "absent.safetensors"), value_error);
    CHECK_THROWS_AS(safetensors_file(folder.path()), value_error);  // opening a folder succeeds, but it has no size
    const auto pipe = folder.path() / "pipe.safetensors";           // without a writer: opening it once blocked
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(safetensors_file{pipe}, doctest::Contains("pipe.safetensors' must be a readable file"),
                         value_error);
    const auto truncated = folder.write("t.safetensors", "1234");
    CHECK_THROWS_WITH_AS(safetensors_file{truncated},
                         "safetensors 't.safetensors': file of 4 bytes must have at least 8", value_error);
}

TEST_CASE("models/checkpoint/safetensors: every truncation of a file is refused when it is opened") {
    const std::string whole = safetensors_bytes({{"x", "F32", "[2]", {1.0, 2.0}}, {"y", "F16", "[1]", {3.0}}});
    CHECK_NOTHROW(opened(whole));
    for (std::size_t size = 0; size < whole.size(); ++size)
        REQUIRE_THROWS_AS(opened(whole.substr(0, size)), value_error);
    CHECK(refusal(whole + "x") == "test: data of 11 bytes must be the 10 bytes of its tensors");
}

TEST_CASE(
    "models/checkpoint/safetensors: a header length that cannot be is refused before anything is allocated for it") {
    for (const std::uint64_t length :
         {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{3}}) {
        CAPTURE(length);
        CHECK(refusal(little_endian(length, 8) + "{}") ==
              message("test: header length ", length, " must be at most 100000000 and the 2 bytes that follow"));
    }
    CHECK(refusal(little_endian(0, 8)) == "test: header must begin with '{'");

    const temporary_folder folder;
    const auto path = folder.write("w.safetensors", little_endian(100'000'001, 8));
    std::filesystem::resize_file(path, 200'000'000);  // sparse: takes no space on disk
    CHECK_THROWS_WITH_AS(safetensors_file{path},
                         "safetensors 'w.safetensors': header length 100000001 must be at most 100000000 and the "
                         "199999992 bytes that follow",
                         value_error);
}

TEST_CASE("models/checkpoint/safetensors: a header that is no strict JSON is refused") {
    CHECK(refusal("[]", 0) == "test: header must begin with '{'");
    CHECK(refusal("{\"a\": NaN}", 0) == "test: header: text must be JSON; it is invalid at byte 7");
    CHECK(refusal(R"({"a": 1, "a": 2})", 0) == "test: header: key 'a' must occur once in its object");
    CHECK(refusal("{\"a\": " + std::string(100'000, '['), 0) ==
          "test: header: JSON nested 65 deep must be at most 64 deep");
    CHECK(refusal(R"({"__metadata__": {"a": 1}})", 0) == "test: __metadata__ must be an object of strings");
    CHECK(refusal(R"({"__metadata__": "a"})", 0) == "test: __metadata__ must be an object of strings");
}

TEST_CASE("models/checkpoint/safetensors: an entry that is not whole is refused by name") {
    CHECK(refusal(R"({"a": 1})", 0) == "test: tensor 'a' must be an object with 'dtype'");
    CHECK(refusal(R"({"a": {"dtype": "F32", "shape": [1]}})", 4) ==
          "test: tensor 'a' must be an object with 'data_offsets'");
    CHECK(refusal(R"({"a": {"dtype": 32, "shape": [1], "data_offsets": [0, 4]}})", 4) ==
          "test: tensor 'a': dtype must be a string");
    CHECK(refusal(entry("F32", "1", "[0, 4]"), 4) == "test: tensor 'a': shape must be an array");
    CHECK(refusal(entry("F32", "[1.0]", "[0, 4]"), 4) == "test: tensor 'a': shape must hold integers in 0 ... 2^64-1");
    CHECK(refusal(entry("F32", "[-1]", "[0, 4]"), 4) == "test: tensor 'a': shape must hold integers in 0 ... 2^64-1");
    CHECK(refusal(entry("F32", "[1]", "[0]"), 4) == "test: tensor 'a': data_offsets must be [begin, end]");
    CHECK(refusal(entry("F32", "[1]", "[0, 1e400]"), 4) ==
          "test: header: text must be JSON whose numbers are doubles or 64-bit integers");
    CHECK(refusal(entry("F32", "[1]", "[0, 99999999999999999999]"), 4) ==
          "test: tensor 'a': data_offsets must hold integers in 0 ... 2^64-1");
}

TEST_CASE("models/checkpoint/safetensors: a shape and offsets that disagree, or overflow, are refused") {
    CHECK(refusal(entry("F32", "[2]", "[0, 4]"), 4) ==
          "test: tensor 'a': data_offsets [0, 4] must hold the 8 bytes of its shape and dtype 'F32'");
    CHECK(refusal(entry("F32", "[1]", "[0, 8]"), 8) ==
          "test: tensor 'a': data_offsets [0, 8] must hold the 4 bytes of its shape and dtype 'F32'");
    CHECK(refusal(entry("F32", "[1]", "[4, 0]"), 4) == "test: tensor 'a': data_offsets [4, 0] must not decrease");
    for (const char* shape : {"[4611686018427387904]", "[4294967296, 4294967296]", "[3, 6148914691236517205]",
                              "[18446744073709551615, 18446744073709551615, 0]"}) {
        CAPTURE(shape);
        CHECK(refusal(entry("F32", shape, "[0, 4]"), 4) == "test: tensor 'a': shape must have fewer than 2^64 bytes");
    }
    CHECK(refusal(entry("F32", "[1]", "[18446744073709551612, 18446744073709551615]"), 4).find("must hold the 4") !=
          std::string::npos);
    CHECK(refusal(entry("F32", "[1]", "[18446744073709551608, 18446744073709551612]"), 4) ==
          "test: tensor 'a' data_offsets [18446744073709551608, 18446744073709551612] must begin at 0, the end of "
          "the tensor before it");
}

TEST_CASE("models/checkpoint/safetensors: tensors that overlap, leave a hole or reach beyond the file are refused") {
    const auto two = [](const char* first, const char* second) {
        return std::string(R"({"a": {"dtype": "F16", "shape": [2], "data_offsets": )") + first +
               R"(}, "b": {"dtype": "F16", "shape": [2], "data_offsets": )" + second + "}}";
    };
    CHECK_NOTHROW(opened(safetensors_bytes(two("[4, 8]", "[0, 4]"), "12345678")));  // in any order
    CHECK(refusal(two("[0, 4]", "[2, 6]"), 6) ==
          "test: tensor 'b' data_offsets [2, 6] must begin at 4, the end of the tensor before it");
    CHECK(refusal(two("[0, 4]", "[0, 4]"), 4) ==
          "test: tensor 'b' data_offsets [0, 4] must begin at 4, the end of the tensor before it");
    CHECK(refusal(two("[0, 4]", "[6, 10]"), 10) ==
          "test: tensor 'b' data_offsets [6, 10] must begin at 4, the end of the tensor before it");
    CHECK(refusal(two("[0, 4]", "[4, 8]"), 7) == "test: data of 7 bytes must be the 8 bytes of its tensors");
}

TEST_CASE("models/checkpoint/safetensors: a missing tensor, or one of another dtype, is named when requested") {
    const auto file = opened(safetensors_bytes(
        R"({"i": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}, "f": {"dtype": "F4", "shape": [3, 5],
            "data_offsets": [8, 16]}})",
        std::string(16, '\0')));
    CHECK_THROWS_WITH_AS(file.numbers("absent"), "test: tensor 'absent' must be in the file", value_error);
    CHECK_THROWS_WITH_AS(file.numbers("i"), "test: tensor 'i' of dtype 'I64' must be F64, F32, F16 or BF16",
                         value_error);
    CHECK_THROWS_WITH_AS(file.numbers("f"), "test: tensor 'f' of dtype 'F4' must be F64, F32, F16 or BF16",
                         value_error);
}

// Once, two threads moved one stream at the same time, which gave errors and the bytes of other tensors.
TEST_CASE("models/checkpoint/safetensors: threads that read from one file at a time get their own tensors") {
    std::vector<tensor_to_write> tensors;
    for (int i = 0; i < 4; ++i) tensors.push_back({message("t", i), "F64", "[30]", std::vector<double>(30, i)});
    const safetensors_file file(std::make_unique<interrupted_stream>(safetensors_bytes(tensors)));
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 100; ++round) {
                try {
                    if (file.numbers(message("t", i)).data != tensors[static_cast<std::size_t>(i)].numbers) ++wrong;
                } catch (const value_error&) {
                    ++wrong;
                }
            }
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("models/checkpoint/safetensors: a file that shrinks after it was opened is an error, not garbage") {
    const temporary_folder folder;
    const auto path =
        folder.write("w.safetensors", safetensors_bytes({{"x", "F64", "[3000]", std::vector<double>(3000, 1)}}));
    const safetensors_file file(path);
    std::filesystem::resize_file(path, 200);
    CHECK_THROWS_AS(file.numbers("x"), value_error);
}
