// SPDX-License-Identifier: MIT
#include "cordage/core/token_chunks.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cordage;

namespace {
struct cut {
    index_t share, bases, most, smallest;
};
}  // namespace

TEST_CASE("core/token_chunks: chunks follow each other through all tokens, few, long and of one basis each") {
    for (const cut& into : {cut{100, 1, 10, 1}, cut{100, 1, 10, 32}, cut{7, 5, 4, 1}, cut{16, 5, 12, 1},
                            cut{3, 12, 1, 4}, cut{100, 3, 64, 4}}) {
        const auto chunks = token_chunks::of(into.share * into.bases, into.bases, into.most, into.smallest);
        CHECK(chunks.count <= std::max(into.most, into.bases));
        index_t token = 0;
        for (index_t chunk = 0; chunk < chunks.count; ++chunk) {
            CHECK(chunks.begin(chunk) == token);
            CHECK(chunks.basis(chunk) == token / into.share);
            token = chunks.end(chunk);
            CHECK(chunks.basis(chunk) == (token - 1) / into.share);
            CHECK((token % into.share == 0 || token - chunks.begin(chunk) >= into.smallest));
        }
        CHECK(token == into.share * into.bases);
    }
}
