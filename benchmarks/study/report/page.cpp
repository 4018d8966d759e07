// SPDX-License-Identifier: MIT
// Between the marks.
#include "report/page.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "cordage/core/error.hpp"

namespace demo {
namespace {

const std::string opened = "<!-- block ", closed = " -->\n", end_mark = "<!-- end of block -->\n";

std::string names_of(const std::vector<block>& blocks) {
    std::string names;
    for (const block& b : blocks) names += (names.empty() ? "" : ", ") + b.name;
    return names;
}

}  // namespace

std::string with_blocks(const std::string& page, const std::vector<block>& blocks, const std::string& name) {
    using cordage::in_quotes;
    const auto refuse = [&](const std::string& problem) { throw std::runtime_error(name + ": " + problem); };
    std::string made;
    std::set<std::string> seen;
    std::size_t at = 0;
    while (true) {
        const std::size_t mark = page.find(opened, at);
        if (mark == page.npos) break;
        const std::size_t begin = mark + opened.size(), name_end = page.find(closed, begin);
        if (name_end == page.npos) refuse("a mark '<!-- block NAME -->' must close its line");
        const std::string wanted = page.substr(begin, name_end - begin);
        const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const block& b) { return b.name == wanted; });
        if (found == blocks.end()) {
            refuse(cordage::message("block ", in_quotes(wanted), " must be one of ", names_of(blocks)));
        }
        if (!seen.insert(wanted).second) refuse(cordage::message("block ", in_quotes(wanted), " must be marked once"));
        const std::size_t text = name_end + closed.size();
        const std::size_t end = page.find(end_mark, text), next = page.find(opened, text);
        if (end == page.npos || next < end) {
            refuse(cordage::message("block ", in_quotes(wanted), " must be closed by '<!-- end of block -->'"));
        }
        made += page.substr(at, text - at) + "\n" + found->text + "\n";
        at = end;
    }
    if (seen.empty())
        refuse("no block is marked; write '<!-- block NAME -->' and '<!-- end of block -->', NAME one of " +
               names_of(blocks));
    return made + page.substr(at);
}

}  // namespace demo
