// SPDX-License-Identifier: MIT
// The objects behind handles of the C interface, and the conversion of errors to a status and a message.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/c/cordage.h"
#include "cordage/models/config/model_ropes.hpp"

namespace cordage::c {

/// The object behind a cordage_model.
struct model_object {
    static constexpr const char* kind = "model";
    hf::model_ropes ropes;
};

/// The object behind a cordage_rule.
struct rule_object {
    static constexpr const char* kind = "rule";
    hf::layer_rope rope;
};

/// The object behind a cordage_basis.
struct basis_object {
    static constexpr const char* kind = "basis";
    basis numbers;
};

/// All objects behind handles. A handle is a unique number, not an address, so that an invalid one is detected without
/// reading memory.
class handle_table {
 public:
    /// The table of the program; never destroyed, as threads may outlive main.
    static handle_table& of_program() {
        static handle_table& table = *new handle_table;
        return table;
    }
    template <class Object, class Handle>
    void add(std::shared_ptr<const Object> object, Handle** handle) {
        const std::unique_lock lock(mutex_);
        const std::uintptr_t name = 2 * ++last_ + 1;  // odd, unlike addresses of objects
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
        std::shared_ptr<const void> last;  // destroyed after the lock is released
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
                               " must be a handle of this library that has not been destroyed"});
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

/// The message of this thread's last failure: plain memory without a destructor.
inline char* last_error() noexcept {
    thread_local char text[1024] = "";
    return text;
}
inline cordage_status failed(cordage_status status, const char* text) noexcept {
    char* const to = last_error();
    std::strncpy(to, text, 1023);
    return status;
}

/// Runs body(function), the body of the entry point of that name, and converts what it throws to a status.
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
    if (pointer == nullptr) fail<value_error>({function, ": ", argument, " must not be NULL"});
}
inline void check_abi(const char* function, std::int32_t abi) {
    if (abi == CORDAGE_ABI) return;
    fail<value_error>({function, ": abi ", abi, " must be ", CORDAGE_ABI,
                       ", the version of this library: compile against its cordage.h, or link the other library"});
}

}  // namespace cordage::c
