// SPDX-License-Identifier: MIT
// What the handles of the C interface name, and how its errors become a status and a message.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cordage/c/cordage.h"
#include "cordage/c/dispatch.hpp"
#include "cordage/config/model_ropes.hpp"
#include "cordage/rotate/cos_sin_table.hpp"

namespace cordage::c {

/// What a cordage_rule names.
struct rule_object {
    static constexpr const char* kind = "rule";
    hf::layer_rope rope;
};

/// What a cordage_basis names.
struct basis_object {
    static constexpr const char* kind = "basis";
    basis numbers;
};

/// What a cordage_angles names: positions and bases, and the tables of their angles. The table of doubles is made when
/// it is first asked for.
class angles_object {
 public:
    static constexpr const char* kind = "angles";

    /// Positions and bases, which sources of angles view.
    struct origin {
        explicit origin(basis_list of) : bases(std::move(of)) {}

        basis_list bases;
        std::vector<std::int32_t> basis_of_token;
        index_t rows_of_basis = 1;
        std::vector<held_position> position_ids;  ///< [axes, rows, tokens]
        index_t axes = 1, rows = 1, tokens = 0;
        std::vector<std::uint8_t> axis_of_pair;
        bool rounds_to_float32 = false;
        bool has_basis_of_token = false;

        basis_view view_of_bases() const {
            return has_basis_of_token ? bases.of(basis_of_token, rows_of_basis) : bases.of_rows();
        }
        position_view<held_position> positions() const { return axis_major(position_ids.data(), axes, rows, tokens); }
        exact_source exact() const { return {view_of_bases(), axis_of_pair, positions()}; }
        float32_source float32() const { return {view_of_bases(), positions()}; }
    };

    /// @throws value_error, shape_error
    explicit angles_object(std::shared_ptr<const origin> to, std::shared_ptr<const origin> from = nullptr)
        : to_(std::move(to)), from_(std::move(from)) {
        with_source([&](const auto& source) {
            of_float_.emplace(source, serial{}, dispatched{});
            rows_ = source.batch();
            for (index_t i = 0; is_difference() && i < rows_ * source.tokens(); ++i) {
                is_identity_.push_back(angle_detail::is_identity(source, i / source.tokens(), i % source.tokens()));
            }
        });
    }

    const std::shared_ptr<const origin>& to() const { return to_; }
    bool is_difference() const { return from_ != nullptr; }
    /// Whether a token's rotation changes nothing, of a difference.
    bool is_identity(index_t row, index_t token) const {
        return is_difference() && is_identity_[static_cast<std::size_t>((rows_ == 1 ? 0 : row) * to_->tokens + token)];
    }
    index_t batch() const noexcept { return rows_; }
    index_t tokens() const noexcept { return to_->tokens; }
    index_t pairs() const noexcept { return to_->bases.pairs(); }

    cos_sin_tables tables(bool with_doubles) const {
        if (with_doubles) {
            std::call_once(made_double_, [&] {
                with_source([&](const auto& source) { of_double_.emplace(source, serial{}, dispatched{}); });
            });
        }
        return {of_float_->view(), with_doubles ? of_double_->view() : cos_sin_view<double>{}};
    }

 private:
    template <class F>
    void with_source(const F& f) const {
        if (is_difference()) {
            const difference_source difference = to_->exact() - from_->exact();
            f(difference);
        } else if (to_->rounds_to_float32) {
            f(to_->float32());
        } else {
            f(to_->exact());
        }
    }

    std::shared_ptr<const origin> to_, from_;
    index_t rows_ = 1;
    std::vector<bool> is_identity_;  // [rows, tokens]
    std::optional<cos_sin_table<float>> of_float_;
    mutable std::optional<cos_sin_table<double>> of_double_;
    mutable std::once_flag made_double_;
};

/// All objects that handles name. A handle is a number that is given once, so that no call reads memory by it.
class handle_table {
 public:
    /// The one of the program; never destroyed, as threads may outlive main.
    static handle_table& of_program() {
        static handle_table& table = *new handle_table;
        return table;
    }
    template <class Object, class Handle>
    void add(std::shared_ptr<const Object> object, Handle** handle) {
        const std::unique_lock lock(mutex_);
        const std::uintptr_t name = 2 * ++last_ + 1;  // odd, as no address of an object is
        objects_.emplace(name, entry{Object::kind, std::move(object)});
        *handle = reinterpret_cast<Handle*>(name);
    }
    /// @throws value_error
    template <class Object>
    std::shared_ptr<const Object> find(const char* function, const char* argument, const void* handle) const {
        const std::shared_lock lock(mutex_);
        return std::static_pointer_cast<const Object>(
            entry_of(objects_, function, argument, handle, Object::kind)->second.object);
    }
    template <class Object>
    void remove(const char* function, const void* handle) {
        if (handle == nullptr) return;
        std::shared_ptr<const void> last;  // destroyed without the lock
        const std::unique_lock lock(mutex_);
        const auto at = entry_of(objects_, function, Object::kind, handle, Object::kind);
        last = std::move(at->second.object);
        objects_.erase(at);
    }

 private:
    struct entry {
        const char* kind;
        std::shared_ptr<const void> object;
    };
    template <class Objects>
    static auto entry_of(Objects& objects, const char* function, const char* argument, const void* handle,
                         const char* kind) {
        const auto found = objects.find(reinterpret_cast<std::uintptr_t>(handle));
        if (found == objects.end()) {
            fail<value_error>({function, ": ", argument, handle == nullptr ? " nullptr" : message(" ", handle),
                               " must be a handle of this library that was not destroyed"});
        }
        if (found->second.kind != kind) {
            fail<value_error>(
                {function, ": ", argument, " is a handle of kind ", found->second.kind, ", must be of kind ", kind});
        }
        return found;
    }

    mutable std::shared_mutex mutex_;
    std::unordered_map<std::uintptr_t, entry> objects_;
    std::uintptr_t last_ = 0;
};

/// The message of this thread's last failure: plain memory, which needs no destructor.
inline char* last_error() noexcept {
    thread_local char text[1024] = "";
    return text;
}
inline cordage_status failed(cordage_status status, const char* text) noexcept {
    char* const to = last_error();
    std::strncpy(to, text, 1023);
    return status;
}

/// Runs body(function), the body of an entry point of that name; what it throws becomes a status.
template <class Body>
cordage_status guarded(const char* function, const Body& body) noexcept {
    try {
        body(function);
        return CORDAGE_OK;
    } catch (const value_error& e) {
        return failed(CORDAGE_VALUE_ERROR, e.what());
    } catch (const shape_error& e) {
        return failed(CORDAGE_SHAPE_ERROR, e.what());
    } catch (const std::bad_alloc&) {
        return failed(CORDAGE_OUT_OF_MEMORY, "cordage: out of memory");
    } catch (const std::exception& e) {
        return failed(CORDAGE_OTHER_ERROR, e.what());
    } catch (...) {
        return failed(CORDAGE_OTHER_ERROR, "cordage: unknown error");
    }
}

/// @throws value_error
inline void expect_pointer(const char* function, const char* argument, const void* pointer) {
    if (pointer == nullptr) fail<value_error>({function, ": ", argument, " nullptr must not be null"});
}
inline void check_abi(const char* function, std::int32_t abi) {
    if (abi == CORDAGE_ABI) return;
    fail<value_error>({function, ": abi ", abi, " must be ", CORDAGE_ABI,
                       ", the version of this library: compile against its cordage.h, or link the other library"});
}

}  // namespace cordage::c
