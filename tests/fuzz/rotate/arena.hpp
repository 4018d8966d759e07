// SPDX-License-Identifier: MIT
// Blocks of memory that record their content before and the expected content after a call, gaps and neighbours
// included.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "cordage/pair/format.hpp"
#include "cordage/tensors/heads_view.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace fuzz {

using cordage::heads_view;
using cordage::index_t;

/// Elements in a separate block, so that the address sanitizer detects accesses outside of it.
template <class T>
class arena {
    using traits = cordage::element_traits<T>;

 public:
    arena(index_t count, std::mt19937_64& random)
        : count_(count), data_(new T[static_cast<std::size_t>(count)]), expected_(size()), allowed_(size(), 0.0) {
        for (std::size_t i = 0; i < size(); ++i) {
            const double x = uniform(random, 0.0625, 2.0);
            data_[i] = traits::store(static_cast<cordage::compute_of<T>>(random() % 2 == 0 ? x : -x));
        }
        before_.assign(data_.get(), data_.get() + count);
        for (std::size_t i = 0; i < size(); ++i) expected_[i] = value(before_[i]);
    }

    T* data() noexcept { return data_.get(); }
    index_t count() const noexcept { return count_; }
    double before(index_t i) const noexcept { return value(before_[static_cast<std::size_t>(i)]); }

    /// After the call element i is `wanted`, up to `allowed`; infinity allows anything, 0 only the same number.
    void expect_at(index_t i, double wanted, double allowed) {
        expected_[static_cast<std::size_t>(i)] = wanted;
        allowed_[static_cast<std::size_t>(i)] = allowed;
    }

    bool is_untouched() const {
        for (std::size_t i = 0; i < size(); ++i) {
            if (value(data_[i]) != value(before_[i])) return false;
        }
        return true;
    }
    bool is_as_expected() const {
        for (std::size_t i = 0; i < size(); ++i) {
            if (std::isinf(allowed_[i])) continue;
            const double found = value(data_[i]);
            if (!(std::fabs(found - expected_[i]) <= allowed_[i])) {
                std::fprintf(stderr, "fuzz: element %zu of %zu is %.17g, must be %.17g within %.3g\n", i, size(), found,
                             expected_[i], allowed_[i]);
                return false;
            }
        }
        return true;
    }

 private:
    static double value(T x) { return static_cast<double>(traits::load(x)); }
    std::size_t size() const { return static_cast<std::size_t>(count_); }

    index_t count_;
    std::unique_ptr<T[]> data_;
    std::vector<T> before_;
    std::vector<double> expected_, allowed_;
};

/// A view and its place in an arena.
template <class T>
struct placed_view {
    heads_view<T> view;
    arena<T>* in = nullptr;
    index_t offset = 0;

    index_t at(index_t row, index_t token, index_t head, index_t lane) const {
        return offset + row * view.batch_stride + token * view.token_stride + head * view.head_stride + lane;
    }
};

/// Elements from a view's first to one past its last, for any numbers; -1 if one of them is negative.
template <class T>
__int128 wide_extent(const heads_view<T>& v) {
    const index_t sizes[] = {v.shape.batch, v.shape.tokens, v.shape.heads, v.shape.head_dim};
    const index_t strides[] = {v.batch_stride, v.token_stride, v.head_stride, 1};
    __int128 last = 0;
    bool is_empty = false;
    for (int i = 0; i < 4; ++i) {
        if (sizes[i] < 0 || strides[i] < 0) return -1;
        is_empty = is_empty || sizes[i] == 0;
        last += static_cast<__int128>(sizes[i] - 1) * strides[i];
    }
    return is_empty ? 0 : last + 1;
}

/// The memory of a run: tensors in separate arenas, or two in one.
template <class T>
class memory {
 public:
    memory(input& in, std::mt19937_64& random) : in_(in), random_(random) {}

    /// Axes in any order, with gaps or without; sometimes overlapping, or with sizes beyond any memory.
    placed_view<T> place(const cordage::heads_shape& shape) {
        heads_view<T> v{nullptr, shape};
        std::pair<index_t, index_t*> axes[] = {
            {shape.heads, &v.head_stride}, {shape.tokens, &v.token_stride}, {shape.batch, &v.batch_stride}};
        for (int i = 2; i > 0; --i) std::swap(axes[i], axes[in_.between(0, i)]);
        index_t inside = shape.head_dim;
        for (const auto& [count, stride] : axes) {
            *stride = inside + (in_.coin() ? in_.between(0, 9) : 0);
            inside = *stride * std::max<index_t>(count, 1);
        }
        if (in_.rarely()) *axes[in_.between(0, 2)].second = in_.between(0, 70), doubtful_ = true;
        placed_view<T> placed = lay(v);
        if (in_.rarely()) break_one_number(placed.view, placed.in->count() - placed.offset);
        return placed;
    }

    /// Whether something was drawn that the library may reject.
    bool is_doubtful() const { return doubtful_; }
    bool is_untouched() const {
        return std::all_of(arenas_.begin(), arenas_.end(), [](const auto& a) { return a->is_untouched(); });
    }
    bool is_as_expected() const {
        return std::all_of(arenas_.begin(), arenas_.end(), [](const auto& a) { return a->is_as_expected(); });
    }

 private:
    /// In a new arena, its first or last element at a border; or in an existing one, over or beside its content.
    placed_view<T> lay(heads_view<T> v) {
        const auto extent = static_cast<index_t>(wide_extent(v));
        if (!arenas_.empty() && in_.rarely(8)) {
            arena<T>& there = *arenas_[static_cast<std::size_t>(in_.between(0, std::ssize(arenas_) - 1))];
            if (there.count() >= extent) {
                doubtful_ = true;
                const index_t offset = in_.bits<std::uint16_t>() % (there.count() - extent + 1);
                v.data = there.data() + offset;
                return {v, &there, offset};
            }
        }
        const index_t spare = in_.rarely(8) ? in_.bits<std::uint16_t>() % 4096 : 0;
        arenas_.push_back(std::make_unique<arena<T>>(extent + spare, random_));
        const index_t offset = in_.coin() ? spare : 0;
        v.data = arenas_.back()->data() + offset;
        return {v, arenas_.back().get(), offset};
    }

    /// Kept only if the view stays within its memory, or has a size beyond any memory.
    void break_one_number(heads_view<T>& v, index_t room) {
        heads_view<T> broken = v;
        index_t* const numbers[] = {&broken.shape.batch,    &broken.shape.tokens, &broken.shape.heads,
                                    &broken.shape.head_dim, &broken.batch_stride, &broken.token_stride,
                                    &broken.head_stride};
        const auto which = in_.between(0, 7);
        if (which == 7)
            broken.data = nullptr;
        else
            *numbers[which] = in_.hostile_integer();
        const __int128 extent = wide_extent(broken);
        if (extent > room && extent < (static_cast<__int128>(1) << 60)) return;
        v = broken;
        doubtful_ = true;
    }

    input& in_;
    std::mt19937_64& random_;
    std::vector<std::unique_ptr<arena<T>>> arenas_;
    bool doubtful_ = false;
};

}  // namespace fuzz
