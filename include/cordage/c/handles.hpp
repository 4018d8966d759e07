// SPDX-License-Identifier: MIT
// The objects behind handles of the C interface, and the conversion of errors to a status and a message.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "cordage/basis/basis.hpp"
#include "cordage/c/cordage.h"
#include "cordage/models/config/model_ropes.hpp"

namespace cordage::c {

/// What messages call an object: a cordage_model is an hf::model_ropes, a cordage_rule an hf::layer_rope, a
/// cordage_basis a basis.
template <class Object>
inline constexpr const char* kind_of = nullptr;
template <>
inline constexpr const char* kind_of<hf::model_ropes> = "model";
template <>
inline constexpr const char* kind_of<hf::layer_rope> = "rule";
template <>
inline constexpr const char* kind_of<basis> = "basis";

/// All objects behind handles. A handle is a unique number, not an address, so that an invalid one is detected without
/// reading memory.
struct handle_table {
    struct entry {
        const char* kind;
        std::shared_ptr<const void> object;
    };
    std::shared_mutex mutex;
    std::unordered_map<std::uintptr_t, entry> objects;
    std::uintptr_t last = 0;

    /// The table of the program; never destroyed, as threads may outlive main.
    static handle_table& of_program() {
        static handle_table& table = *new handle_table;
        return table;
    }
    /// @throws value_error
    auto entry_of(const char* function, const void* handle, const char* argument, const char* kind) {
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
};

/// Makes an Object(args...) and its handle.
template <class Object, class Handle, class... Args>
void create(Handle** handle, Args&&... args) {
    auto object = std::make_shared<const Object>(std::forward<Args>(args)...);
    auto& table = handle_table::of_program();
    const std::unique_lock lock(table.mutex);
    const std::uintptr_t name = 2 * ++table.last + 1;  // odd, unlike addresses of objects
    table.objects.emplace(name, handle_table::entry{kind_of<Object>, std::move(object)});
    *handle = reinterpret_cast<Handle*>(name);
}
/// @throws value_error
template <class Object>
std::shared_ptr<const Object> find(const char* function, const void* handle, const char* argument = kind_of<Object>) {
    auto& table = handle_table::of_program();
    const std::shared_lock lock(table.mutex);
    return std::static_pointer_cast<const Object>(
        table.entry_of(function, handle, argument, kind_of<Object>)->second.object);
}
/// @throws value_error
template <class Object>
void destroy(const char* function, const void* handle) {
    if (handle == nullptr) return;
    auto& table = handle_table::of_program();
    std::shared_ptr<const void> last;  // destroyed after the lock is released
    const std::unique_lock lock(table.mutex);
    const auto at = table.entry_of(function, handle, kind_of<Object>, kind_of<Object>);
    last = std::move(at->second.object);
    table.objects.erase(at);
}

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

/// @throws value_error
inline void expect_pointer(const char* function, const char* argument, const void* pointer) {
    if (pointer == nullptr) fail<value_error>({function, ": ", argument, " must not be NULL"});
}

/// An argument that must not be NULL.
struct needed {
    const char* name;
    const void* pointer;
};

/// Runs body(function), the body of the entry point of that name, and converts what it throws to a status.
template <class Body>
cordage_status guarded(const char* function, std::initializer_list<needed> arguments, const Body& body) noexcept {
    try {
        for (const auto& [name, pointer] : arguments) expect_pointer(function, name, pointer);
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
/// The same for a function that takes the ABI version, which is checked first.
template <class Body>
cordage_status guarded(const char* function, std::int32_t abi, std::initializer_list<needed> arguments,
                       const Body& body) noexcept {
    if (abi == CORDAGE_ABI) return guarded(function, arguments, body);
    return guarded(function, {}, [abi](const char* name) {
        fail<value_error>({name, ": abi ", abi, " must be ", CORDAGE_ABI,
                           ", the version of this library: compile against its cordage.h, or link the other library"});
    });
}

}  // namespace cordage::c
