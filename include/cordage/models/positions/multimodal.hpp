// SPDX-License-Identifier: MIT
// Positions of sequences of text, images, videos and audio, as vision-language models count them; stage positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"
#include "cordage/models/positions/grid.hpp"
#include "cordage/positions/position_view.hpp"

namespace cordage {

/// The position after a grid, relative to the grid's first one.
enum class after_grid : std::uint8_t {
    longest_side,      ///< after its longer side, in merged patches: transformers 5.24 of Qwen-VL, GLM-V, Ernie VL
    largest_position,  ///< after its largest position, time included: the Qwen-Omni models, HY 4 VL; Qwen2-VL's own
                       ///< code and vLLM
    token_count,       ///< after as many positions as the grid has tokens; its rows and columns start at 0: HunYuan-VL
};

/// How a model family assigns positions; read_multimodal_rule (config/multimodal.hpp) reads it from a config.
///
///   Qwen2-VL      {.spatial_merge_size = 2}
///   Qwen2.5-VL    {.spatial_merge_size = 2, .positions_per_second = 2, .rounds_frame_step = true}
struct multimodal_rule {
    index_t axes = 3;                 ///< time, row, column; HunYuan-VL: text only, column, row, image
    index_t spatial_merge_size = 1;   ///< rows and columns of patches that make a token
    index_t temporal_merge_size = 1;  ///< frames of a video that make a token (Ernie 4.5 VL)
    double positions_per_second = 0;  ///< rate of a video's time; 0: one position for each frame
    bool rounds_frame_step = false;   ///< frame i at i * (seconds * rate), else (i * seconds) * rate, in float32
    bool frames_are_images = false;   ///< each frame of a video is a separate run of tokens (Qwen3-VL, GLM-4V)
    bool frames_are_blocks = false;   ///< a row of tokens ends with a newline token, one more column; on all axes a
                                      ///< frame begins past the longer side of the last one (HY 4 VL)
    double seconds_per_chunk = 0;     ///< of audio within video (Qwen2.5-Omni); 0: token by token (Qwen3-Omni)
    bool repeats_marks = false;       ///< the two marks around audio within video share a position (Qwen2.5-Omni)
    after_grid next = after_grid::longest_side;
};

/// The type of a prompt's token: mm_token_type_ids of transformers' processors.
enum class token_type : std::uint8_t { text, image, video };

/// The positions of one sequence, appended piece by piece: get_rope_index of transformers 5.24.
///
///   multimodal_positions<std::int32_t> positions({.spatial_merge_size = 2});
///   positions.text(15);
///   positions.image({.rows = 36, .columns = 24});
///   positions.text(9);
///   positions.decoded(1);    // a generated token
///   rotate_forward<half_split>(axis_angles(b, axis_of_pair, positions.view(first, count)), in_place(q));
///
/// Appending does not change earlier positions: a prompt in chunks has the positions of the whole prompt. Audio counts
/// as text. A call that throws appends nothing.
///
/// @tparam P  an integer type truncates fractions of time; a floating-point type keeps them (Qwen3-Omni, in float)
template <class P = std::int32_t>
    requires std::integral<P> || std::floating_point<P>
class multimodal_positions {
 public:
    /// @throws value_error  naming the field
    explicit multimodal_positions(const multimodal_rule& rule) : rule_(rule) {
        const auto check = [](const char* field, auto value, bool is_valid, const char* expected) {
            if (!is_valid) fail<value_error>({"multimodal_positions: ", field, " ", value, " must be ", expected});
        };
        check("axes", rule.axes, rule.axes >= 3 && rule.axes <= most_axes, "3 to 256");
        check("spatial_merge_size", rule.spatial_merge_size, rule.spatial_merge_size >= 1, ">= 1");
        check("temporal_merge_size", rule.temporal_merge_size, rule.temporal_merge_size >= 1, ">= 1");
        check("positions_per_second", rule.positions_per_second, is_up_to_a_million(rule.positions_per_second),
              "0 to 1e6");
        check("seconds_per_chunk", rule.seconds_per_chunk, is_up_to_a_million(rule.seconds_per_chunk), "0 to 1e6");
        check("positions_per_second", rule.positions_per_second,
              !(rule.frames_are_blocks && rule.positions_per_second > 0), "0 with frames_are_blocks");
    }

    index_t tokens() const noexcept { return static_cast<index_t>(ids_.size()) / rule_.axes; }
    /// Position of a decoded token minus its index: mrope_position_deltas.
    P delta() const noexcept { return static_cast<P>(past_largest_ - static_cast<P>(tokens())); }
    /// [axes, 1, count], the tokens from `first` on: a chunk of a prompt. A view of this object, which must be an
    /// lvalue; valid until tokens are appended.
    /// @throws value_error  unless these tokens have been appended
    position_view<P> view(index_t first, index_t count) const& {
        if (first < 0 || count < 0 || first > tokens() - count) {
            fail<value_error>({"multimodal_positions::view: first ", first, " and count ", count,
                               " must lie within the ", tokens(), " tokens appended so far"});
        }
        return axis_minor(ids_.data() + first * rule_.axes, rule_.axes, 1, count);
    }
    /// [axes, 1, tokens]
    position_view<P> view() const& { return view(0, tokens()); }
    void view(index_t, index_t) const&& = delete;
    void view() const&& = delete;

    /// Text, audio and marks (tokens around other content): the position increases by 1 with each token, on all axes.
    /// @throws value_error  for a negative count, or positions that P cannot represent exactly
    void text(index_t count) { append_steps("text", count, start()); }
    /// Generated tokens, at index + delta. Text continues at the same position, except after a video that is longer in
    /// time than in its sides (after_grid::longest_side).
    void decoded(index_t count) { append_steps("decoded", count, past_largest_); }
    /// An image. Throws value_error naming the grid, unless it has one frame and spatial_merge_size divides its sides.
    void image(const patch_grid& grid) {
        if (grid.frames != 1) fail_grid("image", grid, "one frame; append several by video()");
        append_grid("image", {merged("image", grid, 1), 1.0, start()});
    }
    /// A video. Throws as image; also if rule.frames_are_images and there is more than one frame.
    /// @param seconds_per_frame  of the grid's frames, video_second_per_grid; used if rule.positions_per_second > 0
    void video(const patch_grid& grid, double seconds_per_frame = 1.0) {
        append_grid("video", clip_of("video", grid, seconds_per_frame, start()));
    }
    /// A video and its sound interleaved by time, with the two marks before and the two after. Throws as video, and if
    /// rule.frames_are_blocks.
    ///
    /// @param audio_tokens  number of audio tokens, 0 to 2^31
    void video_with_audio(const patch_grid& grid, double seconds_per_frame, index_t audio_tokens) {
        if (rule_.frames_are_blocks) {
            fail<value_error>(
                {"multimodal_positions::video_with_audio: this rule (frames_are_blocks) has no time by "
                 "which to interleave audio; append it by text()"});
        }
        check_room("video_with_audio", start(), audio_tokens, 2.0);
        const P begin = static_cast<P>(start() + (rule_.repeats_marks ? P(1) : P(2)));
        const video_clip clip = clip_of("video_with_audio", grid, seconds_per_frame, begin);
        const index_t count = tokens_of(clip.grid) + audio_tokens + 4;
        check_room("video_with_audio", begin, audio_tokens,
                   std::max(last_of(clip), static_cast<double>(audio_tokens)) + 2.0);
        positions_detail::reserve_more(ids_, count * rule_.axes);
        append_marks();
        next_ = static_cast<P>(interleave(clip, audio_tokens) + 1);
        append_marks();
    }

    /// A whole prompt, given the types of its tokens. A run of image or video tokens uses the next grid, or grids.
    ///
    /// @param token_types        [tokens]
    /// @param images, videos     grids in the order of the prompt; if rule.frames_are_images, each frame of a video is
    ///                           a separate run
    /// @param seconds_per_frame  [videos], or empty: 1 each
    /// @throws value_error       naming the run and the grid that disagree, or the number of unused grids
    void prompt(std::span<const token_type> token_types, std::span<const patch_grid> images,
                std::span<const patch_grid> videos = {}, std::span<const double> seconds_per_frame = {}) {
        if (!seconds_per_frame.empty() && seconds_per_frame.size() != videos.size()) {
            fail<value_error>({"multimodal_positions::prompt: seconds_per_frame has ", seconds_per_frame.size(),
                               " entries, must have one for each of ", videos.size(), " videos, or none"});
        }
        multimodal_positions all = *this;
        std::size_t image_at = 0, video_at = 0;
        index_t frame = 0;  // of the current video
        for (std::size_t at = 0, end = 0; at < token_types.size(); at = end) {
            const token_type type = token_types[at];
            while (end < token_types.size() && token_types[end] == type) ++end;
            auto left = static_cast<index_t>(end - at);
            if (type == token_type::text) {
                all.text(left);
                continue;
            }
            if (type != token_type::image && type != token_type::video) {
                fail<value_error>({"multimodal_positions::prompt: token_types[", at, "] ", static_cast<int>(type),
                                   " must be 0 (text), 1 (image) or 2 (video)"});
            }
            const bool is_image = type == token_type::image;
            const char* const name = is_image ? "image" : "video";
            const auto grids = is_image ? images : videos;
            std::size_t& grid_at = is_image ? image_at : video_at;
            while (left > 0) {
                if (grid_at == grids.size()) {
                    fail<value_error>({"multimodal_positions::prompt: ", left, " ", name, " tokens before token ", end,
                                       " must have a grid; number of grids: ", grids.size()});
                }
                patch_grid grid = grids[grid_at];
                patch_grid in_tokens = merged(name, grid, is_image ? 1 : rule_.temporal_merge_size);
                const index_t frames = grid.frames;
                const bool is_frame = !is_image && rule_.frames_are_images;
                if (is_frame) grid.frames = in_tokens.frames = 1;
                const index_t count = tokens_of(in_tokens);
                // HunYuan-VL's marks around an image may be typed as image too
                const index_t marks = rule_.next == after_grid::token_count && left == count + 2 ? 1 : 0;
                if (left < count + 2 * marks) {
                    fail<value_error>({"multimodal_positions::prompt: ", left, " ", name, " tokens before token ", end,
                                       " must be at least the ", count, " of grid ", grid_at, ", ", text_of(grid)});
                }
                all.text(marks);
                if (is_image) {
                    all.image(grid);
                } else {
                    all.video(grid, seconds_per_frame.empty() ? 1.0 : seconds_per_frame[grid_at]);
                }
                all.text(marks);
                left -= count + 2 * marks;
                if (is_frame && ++frame < frames) continue;
                frame = 0;
                ++grid_at;
            }
        }
        if (image_at != images.size() || video_at != videos.size()) {
            fail<value_error>({"multimodal_positions::prompt: token_types has tokens of ", image_at, " images and ",
                               video_at, " videos, must have those of ", images.size(), " and ", videos.size()});
        }
        *this = std::move(all);
    }

 private:
    // A video in tokens, and its first position.
    struct video_clip {
        patch_grid grid;
        double seconds_per_frame;
        P begin;
    };

    static bool is_up_to_a_million(double number) { return number >= 0 && number <= 1e6; }
    static double checked_seconds(double seconds) {
        if (!(is_up_to_a_million(seconds) && seconds > 0)) {
            fail<value_error>(
                {"multimodal_positions: seconds_per_frame ", seconds, " must be above 0 and at most 1e6"});
        }
        return seconds;
    }
    static std::string text_of(const patch_grid& grid) {
        return message("{", grid.frames, ", ", grid.rows, ", ", grid.columns, "}");
    }
    [[noreturn]] static void fail_grid(const char* piece, const patch_grid& grid, std::string_view expected) {
        fail<value_error>({"multimodal_positions::", piece, ": grid ", text_of(grid), " must have ", expected});
    }
    video_clip clip_of(const char* piece, const patch_grid& grid, double seconds_per_frame, P begin) const {
        if (rule_.next == after_grid::token_count) {  // only images are defined (HunYuan-VL)
            fail<value_error>({"multimodal_positions::", piece,
                               ": this rule (after_grid::token_count) has images only; append each frame by image()"});
        }
        if (rule_.frames_are_images && grid.frames != 1) {
            fail_grid(piece, grid, "one frame for each call: this model has text between frames");
        }
        return {merged(piece, grid, rule_.temporal_merge_size), checked_seconds(seconds_per_frame), begin};
    }
    // Throws unless `count` tokens fit, the last of which is at begin + distance.
    void check_room(const char* piece, P begin, index_t count, double distance) const {
        constexpr index_t most_tokens = index_t{1} << 31;
        if (count < 0 || count > most_tokens) {
            fail<value_error>({"multimodal_positions::", piece, ": count ", count, " must be 0 to 2^31"});
        }
        constexpr int digits = std::numeric_limits<P>::digits;
        if (static_cast<double>(begin) + distance >= std::ldexp(1.0, digits)) {
            fail<value_error>({"multimodal_positions::", piece, ": position ", static_cast<double>(begin) + distance,
                               " must be below 2^", digits, ", the limit of its type"});
        }
    }

    // The grid in tokens, with those that end its rows.
    patch_grid merged(const char* piece, const patch_grid& grid, index_t frames_each) const {
        patch_grid tokens = positions_detail::merged_grid({"multimodal_positions::", piece, ": grid"}, grid,
                                                          frames_each, rule_.spatial_merge_size);
        if (rule_.frames_are_blocks || rule_.next == after_grid::token_count) ++tokens.columns;
        return tokens;
    }
    static index_t tokens_of(const patch_grid& grid) noexcept { return grid.frames * grid.rows * grid.columns; }
    static index_t longer_side(const patch_grid& grid) noexcept { return std::max(grid.rows, grid.columns); }

    P start() const noexcept { return rule_.next == after_grid::token_count ? static_cast<P>(tokens()) : next_; }
    // Position of a frame relative to the first one, multiplied in float32 as in torch.
    P time(index_t frame, double seconds_per_frame) const noexcept {
        return rule_.positions_per_second == 0.0 ? static_cast<P>(frame)
                                                 : static_cast<P>(scaled_time(frame, seconds_per_frame));
    }
    float scaled_time(index_t frame, double seconds_per_frame) const noexcept {
        const auto product = [](float a, float b) {
            return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
        };
        const auto seconds = static_cast<float>(seconds_per_frame),
                   rate = static_cast<float>(rule_.positions_per_second);
        const auto i = static_cast<float>(frame);
        return rule_.rounds_frame_step ? product(i, product(rate, seconds)) : product(product(i, seconds), rate);
    }
    double last_of(const video_clip& clip) const noexcept {
        const double side = static_cast<double>(longer_side(clip.grid));
        const double past_time = rule_.positions_per_second == 0.0
                                     ? static_cast<double>(clip.grid.frames)
                                     : double{scaled_time(clip.grid.frames, clip.seconds_per_frame)};
        return std::max(side, past_time);
    }

    // Appends the position on the next axis.
    void append_id(P position) {
        ids_.push_back(position);
        past_largest_ = std::max(past_largest_, static_cast<P>(position + 1));
    }
    void append_token(P position) {
        for (index_t axis = 0; axis < rule_.axes; ++axis) append_id(position);
    }
    void append_steps(const char* piece, index_t count, P begin) {
        check_room(piece, begin, count, static_cast<double>(count));
        positions_detail::reserve_more(ids_, count * rule_.axes);
        for (index_t i = 0; i < count; ++i) append_token(static_cast<P>(begin + static_cast<P>(i)));
        next_ = static_cast<P>(begin + static_cast<P>(count));
    }
    void append_marks() {
        const P begin = start();
        append_token(begin);
        append_token(rule_.repeats_marks ? begin : static_cast<P>(begin + 1));
        next_ = static_cast<P>(begin + (rule_.repeats_marks ? 1 : 2));
    }
    // Appends a token of a video: time, row, column. Returns the largest of them.
    P append_patch(const video_clip& clip, index_t token) {
        const index_t in_frame = clip.grid.rows * clip.grid.columns;
        const auto at = [&](P distance) { return static_cast<P>(clip.begin + distance); };
        const index_t frame = token / in_frame, first = rule_.frames_are_blocks ? frame * longer_side(clip.grid) : 0;
        const index_t row = first + token % in_frame / clip.grid.columns, column = first + token % clip.grid.columns;
        const P id[]{at(rule_.frames_are_blocks ? static_cast<P>(first) : time(frame, clip.seconds_per_frame)),
                     at(static_cast<P>(row)), at(static_cast<P>(column))};
        for (index_t axis = 0; axis < rule_.axes; ++axis) append_id(id[std::min<index_t>(axis, 2)]);
        return std::max(id[0], std::max(id[1], id[2]));
    }
    void append_grid(const char* piece, const video_clip& clip) {
        const patch_grid& grid = clip.grid;
        const index_t count = tokens_of(grid);
        check_room(piece, clip.begin, count, std::max(last_of(clip), static_cast<double>(count)));
        positions_detail::reserve_more(ids_, count * rule_.axes);
        if (rule_.next == after_grid::token_count) {
            append_image_of_rows(grid);
            return;
        }
        P largest = clip.begin;
        for (index_t token = 0; token < count; ++token) largest = std::max(largest, append_patch(clip, token));
        next_ = rule_.next == after_grid::longest_side ? static_cast<P>(clip.begin + static_cast<P>(longer_side(grid)))
                                                       : static_cast<P>(largest + 1);
    }
    // HunYuan-VL: the last three axes hold column, row and image; each row ends with an additional token.
    void append_image_of_rows(const patch_grid& grid) {
        const index_t text_axes = rule_.axes - 3;
        for (index_t token = 0; token < grid.rows * grid.columns; ++token) {
            const auto index = static_cast<P>(tokens());
            const index_t row = token / grid.columns, column = token % grid.columns;
            const P id[]{static_cast<P>(column), static_cast<P>(row), images_};
            for (index_t axis = 0; axis < rule_.axes; ++axis) {
                append_id(axis < text_axes ? index : id[axis - text_axes]);
            }
        }
        images_ = static_cast<P>(images_ + 1);
    }

    // Appends video and audio in chunks of time, or token by token in order of time. Returns the largest position of
    // the last piece.
    P interleave(const video_clip& clip, index_t audio_tokens) {
        const index_t in_frame = clip.grid.rows * clip.grid.columns, video_tokens = clip.grid.frames * in_frame;
        const auto video_time = [&](index_t token) { return time(token / in_frame, clip.seconds_per_frame); };
        index_t v = 0, a = 0;
        P last = clip.begin;
        const auto append_video = [&](index_t end) {
            last = clip.begin;
            for (; v < end; ++v) last = std::max(last, append_patch(clip, v));
        };
        const auto append_audio = [&](index_t end) {
            for (; a < end; ++a) append_token(last = static_cast<P>(clip.begin + static_cast<P>(a)));
        };
        const double chunk = std::floor(rule_.positions_per_second * rule_.seconds_per_chunk);
        double past = 0;
        while (chunk > 0 && (v < video_tokens || a < audio_tokens)) {
            past += chunk;
            const auto end_of_chunk = [&](index_t first, index_t end, const auto& time_of) {
                if (first == end) return end;
                do ++first;  // at least one token of each chunk, as in the reference
                while (first < end && static_cast<double>(time_of(first)) < past);
                return first;
            };
            if (v < video_tokens) append_video(end_of_chunk(v, video_tokens, video_time));
            if (a < audio_tokens) append_audio(end_of_chunk(a, audio_tokens, [](index_t i) { return i; }));
        }
        while (v < video_tokens && a < audio_tokens) {
            if (static_cast<P>(clip.begin + video_time(v)) <= static_cast<P>(clip.begin + static_cast<P>(a))) {
                append_video(v + 1);
            } else {
                append_audio(a + 1);
            }
        }
        if (v < video_tokens) append_video(video_tokens);
        if (a < audio_tokens) append_audio(audio_tokens);
        return last;
    }

    multimodal_rule rule_;
    std::vector<P> ids_;  // [tokens, axes]
    P next_ = P(0);       // next position of text
    P past_largest_ = P(0);
    P images_ = P(0);
};

}  // namespace cordage
