// SPDX-License-Identifier: MIT
// Draws the pictures of docs/layouts into a folder: plot_layouts FOLDER. Each is the memory of a cache, element by
// element, coloured by the views that a call is given: where they say that a lane lies is where it is drawn.
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "cordage/kernels.hpp"
#include "cordage/tensors/lane_groups.hpp"
#include "svg.hpp"

namespace {

using cordage::index_t;

constexpr int cell = 11, left = 18, width = 64 * cell + 2 * left;
constexpr const char* slot_colours[] = {"#24357a", "#1b9e77", "#d08a00", "#8e44ad"};
constexpr const char* chosen = "#c0392b";

using svg::box;
using svg::number;
using svg::text;

/// What lies in one element.
struct content {
    index_t slot = -1, head = 0, lane = 0;
    bool is_pale = false;  ///< values beside keys, the latent beside the tail
};

/// Where the lanes of a slot's heads lie, by the view: a format of groups says where each group begins.
template <class View>
index_t element_of(const View& v, index_t slot, index_t head, index_t lane) {
    index_t at = slot * v.token_stride + head * v.head_stride;
    if constexpr (requires { v.format.elements_of_group; }) {
        return at + lane / v.format.elements_of_group * v.format.group_stride + lane % v.format.elements_of_group;
    } else {
        return at + lane;
    }
}

class memory {
 public:
    explicit memory(index_t size) : elements_(static_cast<std::size_t>(size)) {}

    /// @param origin  where the view's data begins
    template <class View>
    void lay(const View& v, index_t origin = 0, bool is_pale = false) {
        for (index_t slot = 0; slot < v.shape.tokens; ++slot) {
            for (index_t head = 0; head < v.shape.heads; ++head) {
                for (index_t lane = 0; lane < v.shape.head_dim; ++lane) {
                    content& at = elements_.at(static_cast<std::size_t>(origin + element_of(v, slot, head, lane)));
                    if (at.slot >= 0) throw std::runtime_error("plot_layouts: two lanes in one element");
                    at = {slot, head, lane, is_pale};
                }
            }
        }
    }

    /// The elements side by side; below, those of slot 1, head 0.
    std::string drawn(const std::string& axes, const std::string& call, const std::string& of_chosen) const {
        const double top = 46, height = 26, below = 122;
        std::string out = svg::title(left, width - left, axes, call);
        std::string outlines, lines;
        index_t begin = 0;
        for (std::size_t i = 0; i < elements_.size(); ++i) {
            const content& c = elements_[i];
            const double x = left + cell * static_cast<double>(i);
            const bool is_chosen = c.slot == 1 && c.head == 0 && !c.is_pale;
            const char* const opacity = c.is_pale ? "0.16" : c.head == 0 ? "0.9" : "0.5";
            out += box(x, top, cell - 1, height,
                       std::string(" fill='") + slot_colours[c.slot] + "' fill-opacity='" + opacity + "'");
            if (is_chosen) {
                const double to = left + cell * static_cast<double>(18 + 2 * c.lane);
                lines += "<path d='M" + number(x + 5) + " " + number(top + height + 2) + "L" + number(to + 9) + " " +
                         number(below - 2) + "' stroke='" + chosen + "' stroke-width='0.9'/>\n";
                outlines += box(x - 0.5, top - 1, cell, height + 2,
                                std::string(" fill='none' stroke='") + chosen + "' stroke-width='1.6'");
                out += box(to, below, 2 * cell - 2, 20,
                           std::string(" fill='") + slot_colours[1] + "' fill-opacity='0.9'") +
                       text(to + 10, below + 14, number(static_cast<double>(c.lane)),
                            " text-anchor='middle' fill='#ffffff'");
            }
            const bool is_last = i + 1 == elements_.size() || elements_[i + 1].slot != c.slot ||
                                 elements_[i + 1].head != c.head || elements_[i + 1].is_pale != c.is_pale;
            if (!is_last) continue;  // of a run of one head
            const index_t end = static_cast<index_t>(i) + 1;
            const double middle = left + cell * static_cast<double>(begin + end) / 2 - 0.5;
            const std::string small = " text-anchor='middle' font-size='10'";
            if (end - begin > 1) {
                out += text(middle, top - 5, name_of(c, end - begin > 4), small);
            } else if (i % 32 == 15) {  // single elements: one name for a head
                out += text(middle, top - 5, cordage::message("h", c.head, ": lane 0 of slots 0, 1, 2, 3, then lane 1"),
                            small);
            }
            begin = end;
        }
        return out + lines + outlines + text(left, below + 14, of_chosen, std::string(" fill='") + chosen + "'");
    }

    std::string pale_name, name;

 private:
    std::string name_of(const content& c, bool has_room) const {
        if (name == "tail") return cordage::message(c.is_pale ? pale_name : name, " s", c.slot);
        if (!name.empty()) return cordage::message(c.is_pale ? pale_name : name, " s", c.slot, " h", c.head);
        return cordage::message(has_room ? "slot " : "s", c.slot, has_room ? ", h" : " h", c.head);
    }
    std::vector<content> elements_;
};

/// Tokens, their entries, and the slots that these name.
std::string slot_mapping() {
    constexpr std::int32_t entries[] = {6, 0, -1, 7};
    constexpr index_t block_size = 4, blocks = 2;
    const auto cache = cordage::in_slots(cordage::token_major(static_cast<float*>(nullptr), {blocks, block_size, 2, 8}),
                                         entries, 1, 4);
    std::string out =
        svg::title(left, width - left, "slot_mapping: a slot for each token", "in_slots(cache, slot_mapping, 1, 4)");
    const double top = 44, below = 118, w = 78;
    std::string lines;
    for (index_t slot = 0; slot < blocks * block_size; ++slot) {
        const double x = left + static_cast<double>(slot) * (w + 4) + (slot < block_size ? 0.0 : 38.0);
        out += box(x, below, w, 34, " fill='#eef2fa' stroke='#24357a'") +
               text(x + w / 2, below + 50, "slot " + number(static_cast<double>(slot)),
                    " text-anchor='middle' font-size='11'");
    }
    for (index_t block = 0; block < blocks; ++block) {
        out += text(left + static_cast<double>(block) * (4 * (w + 4) + 38) + 2 * w + 6, below + 66,
                    "block " + number(static_cast<double>(block)), " text-anchor='middle' font-weight='bold'");
    }
    for (index_t token = 0; token < 4; ++token) {
        const double x = 190 + static_cast<double>(token) * 90;
        const std::string fill = std::string(" fill='") + slot_colours[token] + "' fill-opacity='0.9'";
        out += box(x, top, w, 34, fill) +
               text(x + w / 2, top + 14, "token " + number(static_cast<double>(token)),
                    " text-anchor='middle' fill='#ffffff'") +
               text(x + w / 2, top + 28, entries[token] < 0 ? "-1: left out" : number(entries[token]),
                    " text-anchor='middle' fill='#ffffff' font-weight='bold'");
        const cordage::slot_table::location at = cache.slots.location_of(0, token);
        if (at.block < 0) continue;
        const double to =
            left + static_cast<double>(at.block * block_size + at.in_block) * (w + 4) + (at.block > 0 ? 38.0 : 0.0);
        out += box(to + 2, below + 2, w - 4, 30, fill) + text(to + w / 2, below + 21,
                                                              "token " + number(static_cast<double>(token)),
                                                              " text-anchor='middle' fill='#ffffff'");
        lines += "<path d='M" + number(x + w / 2) + " " + number(top + 35) + "L" + number(to + w / 2) + " " +
                 number(below - 2) + "' stroke='#333333' stroke-width='1.2'/>\n";
    }
    return svg::picture(out + lines, width, 196);
}

void draw(const std::filesystem::path& folder) {
    float* const none = nullptr;
    const cordage::heads_shape cache{1, 4, 2, 8};  // a block of 4 slots, 2 heads of 8 lanes
    const std::string key = "slot 1, head 0, its lanes:";
    const auto layout = [&](const char* name, const auto& view, const std::string& axes, const std::string& call) {
        memory all(64);
        all.lay(view);
        svg::write(folder, name, svg::picture(all.drawn(axes, call, key), width, 156));
    };
    layout("token_major", cordage::token_major(none, cache), "[block_size, heads, head_dim]",
           "token_major(data, {...})");
    layout("head_major", cordage::head_major(none, cache), "[heads, block_size, head_dim]", "head_major(data, {...})");
    layout("group_major", cordage::group_major(none, cache, 4), "[heads, head_dim / 4, block_size, 4]",
           "group_major(data, {...}, 4)");
    layout("group_major_1", cordage::group_major(none, cache, 1), "[heads, head_dim, block_size]",
           "group_major(data, {...}, 1)");

    const cordage::heads_view<float> keys{none, {1, 2, 2, 8}, 64, 32, 16};  // heads of 8 keys, then 8 values
    memory beside(64);
    beside.name = "K", beside.pale_name = "V";
    beside.lay(keys);
    beside.lay(keys, 8, true);
    svg::write(folder, "side_by_side",
               svg::picture(beside.drawn("[block_size, heads, 2, head_dim]",
                                         "heads_view{data, ...} and {data + head_dim, ...}", key),
                            width, 156));

    memory rows(64);
    rows.name = "tail", rows.pale_name = "latent";
    rows.lay(cordage::heads_view<float>{none, {1, 4, 1, 12}, 64, 16, 16}, 0, true);
    rows.lay(cordage::heads_view<float>{none, {1, 4, 1, 4}, 64, 16, 16}, 12);
    svg::write(folder, "latent_and_tail",
               svg::picture(rows.drawn("[block_size, latent + rotary_dim]",
                                       "heads_view{data, ...} and {data + latent, ...}", "slot 1, the rotated lanes:"),
                            width, 156));
    svg::write(folder, "slot_mapping", slot_mapping());
}

}  // namespace

int main(int argc, char** argv) { return svg::run(argc, argv, draw); }
