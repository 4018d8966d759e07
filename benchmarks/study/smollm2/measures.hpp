// SPDX-License-Identifier: MIT
// What the demo measures of the real model under a rule, and how a rule's numbers learn; the part with libtorch.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "observation.hpp"
#include "smollm2/rules.hpp"
#include "smollm2/windows.hpp"

namespace demo {

/// Callback with the completed share of the work and what has been observed up to now.
using measuring_report = std::function<void(double share, const std::vector<observation>& seen)>;

/// Tokens of a block of a document, and of a window of chunks.
inline constexpr index_t block_tokens = 1024, chunk_tokens = 1024;
/// Tokens of a window without gaps, in searches and learning; the last tokens of a document, whose loss counts.
inline constexpr index_t dense_tokens = 2048, counted_tokens = 1024;

/// The model and its texts.
class measured_model {
 public:
    /// @param model  the GGUF file; @param texts the folder of token ids
    measured_model(const std::filesystem::path& model, std::filesystem::path texts);
    ~measured_model();

    const cordage::rope_config& rope() const;

    /// Seconds of wall time for a block of the document.
    double seconds_of_block() const;

    /// Logits of the first tokens of the document, [count, vocabulary], by rows.
    std::vector<float> logits(index_t count) const;

    /// One true window: the document's first `window` tokens at positions 0, 1, 2 ... under the rule for that context:
    /// plain_loss of each block, whose first token is the observation's distance.
    std::vector<observation> document(const rule& by, index_t window, const measuring_report& report) const;

    /// `windows` held-out windows of chunks that span `context`, under the rule for it: plain_loss of a window's last
    /// tokens; and `keys` pass keys in each, at random places far from the end, one at a time: match, whether greedy
    /// decoding gives all five digits, and value_loss, their mean loss.
    std::vector<observation> chunks(const rule& by, index_t context, index_t windows, index_t keys,
                                    const measuring_report& report) const;

    /// The last `context` of the first `window` tokens of a document, the same last tokens for each context, under the
    /// rule for it: plain_loss and plain_hit of the last counted_tokens, and pass keys as in chunks. The observations'
    /// window is `number`, which also draws the keys.
    std::vector<observation> end_of_document(const rule& by, const std::string& name, index_t number, index_t window,
                                             index_t context, index_t keys) const;

    /// What searches and learning lower, on text of their own: plain_loss of a window of chunks that spans `context`,
    /// whose end repeats a passage, and of a window of dense_tokens without gaps, both under the rule for `context`;
    /// windows 0 and 1 are of chunks, 2 and 3 without gaps.
    std::vector<observation> judged(const rule& by, index_t context) const;

    /// Learns the rule's numbers, by plain text alone. @returns the rule with its numbers, and plain_loss of the window
    /// of each step
    std::pair<rule, std::vector<observation>> learned(const rule& start, const measuring_report& report) const;

 private:
    struct parts;
    std::unique_ptr<parts> own_;
};

}  // namespace demo
