// SPDX-License-Identifier: MIT
#include "ptx/accesses.hpp"

#include <algorithm>

namespace cordage_test::ptx {

namespace {

// Whether all bytes that the instruction uses of those it reads were written.
bool are_written(const instruction& i, const u8* written, u32 bytes) {
    for (u32 byte = 0; byte < bytes; ++byte) {
        if (written[byte] == 0 && (i.used_bytes >> byte & 1) != 0) return false;
    }
    return true;
}

struct access {
    const instruction& i;
    warp& w;
    int lane;
    u64 address;
    u32 bytes;
    access_kind kind;
    const std::byte* data;

    bool writes() const { return kind != access_kind::read; }
    bool reads() const { return kind != access_kind::write; }
    void report(const char* what, const std::string& where) const {
        w.launch->report(
            what, i, w, lane,
            std::string(writes() ? "write of " : "read of ") + std::to_string(bytes) + " bytes at " + where);
    }
    std::byte* nowhere(const std::string& where) const {
        report("out of bounds", where);
        return nullptr;
    }
    std::byte* in_global_memory() const;
    std::byte* in_parameters() const;
    std::byte* in_local_memory() const;
    std::byte* in_shared_memory() const;
};

std::string hexadecimal(u64 number) {
    std::string digits;
    for (; number != 0 || digits.empty(); number /= 16) digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
    return "0x" + digits;
}

// "a block of 64 bytes to which the argument points at byte 8".
std::string text_of(const launch_state& launch, const memory_block& block) {
    const std::string found = "a block of " + std::to_string(block.size) + " bytes";
    if (!block.name.empty()) return found + ", " + block.name;
    for (std::size_t at = 0; at + sizeof(u64) <= launch.parameters.size(); at += sizeof(u64)) {
        u64 pointer = 0;
        std::memcpy(&pointer, launch.parameters.data() + at, sizeof(pointer));
        if (pointer - block.first < block.size) {
            return found + " to which the argument points at byte " + std::to_string(at);
        }
    }
    return found;
}

// "address 0x..., byte 60 of a block...", or of an address in no block the nearest one.
std::string place_of(const launch_state& launch, u64 address) {
    const std::string text = "address " + hexadecimal(address) + ", ";
    const memory_block* const block = launch.memory.before(address);
    const memory_block* const next = launch.memory.after(address);
    if (block != nullptr && address < block->end()) {
        return text + "byte " + std::to_string(address - block->first) + " of " + text_of(launch, *block);
    }
    const std::string outside = text + "in no known block; ";
    if (next != nullptr && (block == nullptr || next->first - address < address - block->end())) {
        return outside + "the nearest begins " + std::to_string(next->first - address) + " bytes after it, " +
               text_of(launch, *next);
    }
    if (block == nullptr) return outside + "there is none";
    return outside + "the nearest ends " + std::to_string(address - block->end()) + " bytes before it, " +
           text_of(launch, *block);
}

std::byte* access::in_global_memory() const {
    launch_state& launch = *w.launch;
    const memory_block*& last = launch.last_block[i.number];
    if (last == nullptr || address - last->first >= last->size) last = launch.memory.before(address);
    if (last == nullptr) return nowhere(place_of(launch, address));
    const u64 at = address - last->first;
    if (at >= last->size || bytes > last->size - at) return nowhere(place_of(launch, address));
    if (writes() && last->is_constant) return nowhere(last->name + ", which is constant");
    if (last->written != nullptr) {
        if (reads() && !are_written(i, last->written + at, bytes)) report("uninitialised", place_of(launch, address));
        if (writes()) std::fill_n(last->written + at, bytes, u8{1});
    }
    std::string race;
    if (kind == access_kind::read) race = launch.traces.read(*last, at, bytes, i.used_bytes, launch.block);
    if (kind == access_kind::write) race = launch.traces.write(*last, at, bytes, data, launch.block);
    if (!race.empty()) report("race between blocks", place_of(launch, address) + ", " + race);
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): it is the host's
}

std::byte* access::in_parameters() const {
    std::vector<std::byte>& all = w.launch->parameters;
    const u64 at = address - param_window;
    if (at >= all.size() || bytes > all.size() - at || writes())
        return nowhere("byte " + std::to_string(at) + " of the argument");
    return all.data() + at;
}

std::byte* access::in_local_memory() const {
    const u64 at = address - local_window, size = w.launch->kernel.local_bytes;
    const auto where = [&] { return "byte " + std::to_string(at) + " of local memory"; };
    if (at >= size || bytes > size - at) return nowhere(where());
    const u64 of_lane = static_cast<u64>(lane) * size + at;
    if (reads() && !are_written(i, &w.local_written[of_lane], bytes)) report("uninitialised", where());
    if (writes()) std::fill_n(&w.local_written[of_lane], bytes, u8{1});
    return &w.local[of_lane];
}

std::byte* access::in_shared_memory() const {
    shared_memory& shared = w.launch->shared;
    const u64 at = address & ~shared_window;
    const auto where = [&] {
        return "byte " + std::to_string(at) + " of shared memory, which has " + std::to_string(shared.size()) +
               " bytes";
    };
    if (at >= shared.size() || bytes > shared.size() - at) return nowhere(where());
    for (u32 byte = 0; reads() && byte < bytes; ++byte) {
        if (shared.is_written(at + byte) || (i.used_bytes >> byte & 1) == 0) continue;
        report("uninitialised", where());
        break;
    }
    // Atomic updates do not race with each other.
    if (kind != access_kind::update) {
        const std::string race = shared.race(w.first_thread + static_cast<u32>(lane), at, bytes, data);
        if (!race.empty()) w.launch->report("race", i, w, lane, race);
    }
    return shared.bytes() + at;
}

space space_of(space memory, u64 address) {
    if (memory != space::generic && memory != space::shared) return memory;
    switch (address >> 56) {
        case shared_window >> 56:
            return space::shared;
        case param_window >> 56:
            return space::param;
        case local_window >> 56:
            return space::local;
        default:
            return memory == space::shared ? space::shared : space::global;
    }
}

}  // namespace

std::byte* accessed(const instruction& i, warp& w, int lane, u64 address, u32 bytes, access_kind kind,
                    const std::byte* data) {
    const access a{i, w, lane, address, bytes, kind, data};
    const space memory = space_of(i.memory, address);
    if ((address & (bytes - 1)) != 0) {
        a.report("misaligned",
                 memory == space::global ? place_of(*w.launch, address) : "address " + hexadecimal(address));
        return nullptr;
    }
    switch (memory) {
        case space::param:
            return a.in_parameters();
        case space::local:
            return a.in_local_memory();
        case space::shared:
            return a.in_shared_memory();
        default:
            return a.in_global_memory();
    }
}

}  // namespace cordage_test::ptx
