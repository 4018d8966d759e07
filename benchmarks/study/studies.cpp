// SPDX-License-Identifier: MIT
// The list of studies.
#include "studies.hpp"

#include "model/bases.hpp"

namespace demo {
namespace {

std::vector<std::string> cached_rows() {
    std::vector<std::string> rows{"tuned at L: CLEX + two runs"};
    for (const char* kept : {"16", "8", "4", "2", "1"}) rows.push_back(rows[0] + ", cached t, K = " + kept);
    return rows;
}

std::vector<std::string> single_pairs(const settings& s) {
    std::vector<std::string> rows{"frozen: by parts", "frozen: CLEX in log time"};
    for (index_t pair = 0; pair < s.rope().pairs(); ++pair) {
        rows.push_back(rows[1] + ", pair " + std::to_string(pair) + " alone");
    }
    return rows;
}

std::vector<std::string> searched_bases(const settings& s) {
    std::vector<std::string> rows{"frozen: by parts", "frozen: NTK-aware", "frozen: Llama 3"};
    for (const learned_basis& form : learned_basis_forms(s)) {
        for (const double rate : form.rates) rows.push_back(row_name(form, rate));
    }
    return rows;
}

}  // namespace

std::vector<study> studies(const settings& s) {
    const std::string clex = "tuned at L: CLEX + two runs";
    // At the rates that the search below found best.
    const std::string learned_table = "frozen: learned table, rate 0.01",
                      log_time = "frozen: CLEX in log time, rate 0.003",
                      longest_always = "frozen: CLEX in log time, t = 16 always";
    return {
        {"Systems",
         "The paper's Table 1 and what came later: which row holds at which length?",
         {"frozen: no scaling",
          "tuned at L: no scaling",
          "tuned at 4L: no scaling",
          "tuned at 4L: PI",
          "tuned at 4L: PI, self-extending",
          "tuned at 4L: NTK-aware",
          "tuned at 4L: NTK-aware, self-extending",
          "tuned at 4L: NTK-aware, t = 32",
          "tuned at 4L: base change",
          "tuned at L: ALiBi",
          "tuned at L: RandomPos",
          "tuned at L: CLEX + random positions",
          "tuned at 2L: CLEX + random positions",
          "tuned at 4L: CLEX + random positions",
          clex,
          "tuned at 4L: CLEX + two runs",
          "tuned at L: NTK-aware + two runs",
          "tuned at 4L: by parts",
          "tuned at 4L: YaRN",
          "tuned at 4L: p-RoPE"},
         {"base"},
         true,
         true},
        {"Frozen weights",
         "Without touching a weight: closed forms, and a basis that learns.",
         {"frozen: no scaling", "frozen: PI", "frozen: NTK-aware", "frozen: dynamic NTK", "frozen: base change",
          "frozen: YaRN", "frozen: Llama 3", "frozen: by parts", "frozen: p-RoPE", learned_table, log_time,
          longest_always, "frozen: CLEX, paper's field, rate 3e-05"},
         {"base"},
         true,
         true,
         true},
        {"Dynamics",
         "Continuous dynamics against a discrete NTK with random t, with the same positions.",
         {"tuned at L: CLEX + random positions", "tuned at L: NTK-aware + random positions", clex,
          "tuned at L: NTK-aware + two runs"}},
        {"Positions",
         "Where the training positions lie.",
         {"tuned at L: CLEX + true positions", "tuned at L: CLEX + uniform positions",
          "tuned at L: CLEX + random positions", clex}},
        {"Width of the field",
         "The hidden width of CLEX's network is lambda times that of the basis.",
         {clex, "tuned at L: CLEX, lambda 2 + two runs", "tuned at L: CLEX, lambda 4 + two runs"}},
        {"Field and gradient",
         "With and without xi, the paper's field and the released one, the two gradients, and other priors.",
         {clex, "tuned at L: CLEX without xi + two runs", "tuned at L: CLEX, released field + two runs",
          "tuned at L: CLEX, continuous adjoint + two runs", "tuned at L: CLEX over by parts + two runs",
          "tuned at L: CLEX in log time over by parts + two runs", "tuned at L: by parts + two runs"}},
        {"Log scaling",
         "Scores times max(1, log_L length).",
         {clex, clex + ", log scaling", "frozen: by parts", "frozen: by parts, log scaling"}},
        {"Cached t", "The exact basis of every length, or the nearest upper bound of K cached ones.", cached_rows()},
        {"Search for a learned basis",
         "On the text for choosing: every form over every prior, at three rates each, the same steps.",
         searched_bases(s),
         {"dev"}},
        {"How a learned basis trains",
         "On the text for choosing: laws for t, how far it trains, and more steps.",
         {"frozen: by parts", "frozen: CLEX in log time", "frozen: CLEX in log time, t uniform",
          "frozen: CLEX in log time, octave uniform", longest_always, "frozen: CLEX in log time, to 4L",
          "frozen: CLEX in log time, to 8L", "frozen: CLEX in log time, three times the steps"},
         {"dev"}},
        {"Weights then basis",
         "A basis that learns after the weights were tuned.",
         {"tuned at L: by parts + two runs", "tuned at L: by parts + two runs, then frozen: CLEX in log time",
          "tuned at L: by parts + two runs, then frozen: learned table"}},
        {"Single pairs", "The learned basis in one pair alone, by parts in the others.", single_pairs(s)},
        {"Size",
         "Other models, less text, a longer L, another text.",
         {"frozen: no scaling", "frozen: by parts", log_time, learned_table, clex, "tuned at L: NTK-aware + two runs"},
         {"base", "half as wide", "half as deep", "a quarter of the text", "L twice as long", "manuals"}},
    };
}

}  // namespace demo
