// SPDX-License-Identifier: MIT
// Without arguments: a conversation to 8 times the trained length, checked at every token.
// --report [CONTEXT GENERATED ROUNDS]: the cost of a token with four ways to choose t, and of a cached chunk.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "attention.hpp"
#include "conversation.hpp"
#include "report.hpp"

namespace {

template <cordage::element T>
bool check(const char* name, double allowed) {
    const conversation_result r = converse<T>();
    std::printf(
        "%s: %lld tokens, %lld changes of basis, outputs within %.1e of recomputing; read anew %.1e; after a chunk "
        "that "
        "was reused at another position %.1e; after others were dropped %.1e\n",
        name, static_cast<long long>(r.length), static_cast<long long>(r.changes), r.worst, r.reread, r.reused,
        r.dropped);
    return r.worst <= allowed && r.reread <= allowed && r.reused <= allowed && r.dropped <= allowed &&
           r.length == 512 && r.changes > 10;
}

/// Attention must reject keys rotated by another basis.
bool refuses_mixed_keys() {
    paged_cache<float> cache({.blocks = 1, .block_tokens = 16, .heads = 1, .head_dim = 32});
    sequence<float> keys(cache, cordage::basis(std::vector<double>(16, 0.5)));
    const std::vector<float> row(32, 1.0f);
    std::vector<float> out(32);
    keys.append(1);
    cache.tag(keys.block(0)) ^= 1;
    try {
        attend(keys, 1, {{1, row}}, 0, 1, out.data());
    } catch (const cordage::error& refusal) {
        return std::printf("mixed keys: %s\n", refusal.what()) > 0;
    }
    return false;
}

/// A window that slides by one token at a time, 1000 times.
bool check_window() {
    bool is_right = true;
    for (const cordage::index_t drops : {1, 20, 1000}) {
        const window_errors e = slide(drops);
        std::printf(
            "bfloat16 keys whose positions fell by %lld: off by %.4f as stored, %.4f moved once, %.4f moved each "
            "time\n",
            static_cast<long long>(drops), e.as_stored, e.moved_once, e.moved_each_time);
        is_right = is_right && e.as_stored < 0.0025 && e.moved_once < 0.003 &&
                   e.moved_each_time > (drops == 1    ? 0.002
                                        : drops == 20 ? 0.01
                                                      : 0.4);
    }
    return is_right;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) {
        const bool is_right[] = {check<float>("float", 1e-5), check<cordage::bfloat16>("bfloat16", 1.5e-2),
                                 refuses_mixed_keys(), check_window()};
        return is_right[0] && is_right[1] && is_right[2] && is_right[3] ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    report_shape shape;
    if (argc == 5) shape = {std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])};
    if (argv[1] != std::string_view("--report") || (argc != 2 && argc != 5) || shape.context < 1 ||
        shape.generated < 1 || shape.rounds < 1) {
        std::fputs("usage: serve_kv_cache [--report [CONTEXT GENERATED ROUNDS]], all at least 1\n", stderr);
        return 2;
    }
    print_report(shape);
}
