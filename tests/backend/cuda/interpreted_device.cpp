// SPDX-License-Identifier: MIT
// CORDAGE_TEST_PTX names the files of PTX, with ':' between; without it every launch says that it is skipped.
#include "backend/cuda/interpreted_device.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "known_blocks.hpp"
#include "ptx/launch.hpp"
#include "ptx/module.hpp"
#include "ptx/text.hpp"

#ifndef CORDAGE_TEST_PTX
#define CORDAGE_TEST_PTX ""
#endif

namespace cordage_test {

namespace {

// Files of PTX, each read when no earlier one has the kernel.
class compiled_kernels {
 public:
    explicit compiled_kernels(const std::string& paths) {
        std::istringstream all(paths);
        for (std::string path; std::getline(all, path, ':');) files_.push_back({path, nullptr});
    }

    bool is_empty() const { return files_.empty(); }
    /// The module that has the entry, and its full name; null if no file has it.
    std::pair<ptx::module*, std::string> find(const std::string& name) {
        for (file& f : files_) {
            if (f.read == nullptr) f.read = read(f.path);
            if (std::string found = f.read->find(name); !found.empty()) return {f.read.get(), std::move(found)};
        }
        return {};
    }

 private:
    struct file {
        std::string path;
        std::unique_ptr<ptx::module> read;
    };
    // Deliberate faults of tests/mutants are in the code of kernels, which a variable chooses.
    static std::unique_ptr<ptx::module> read(const std::string& path) {
        auto read = std::make_unique<ptx::module>(ptx::module::of_file(path));
        if (const char* chosen = std::getenv("CORDAGE_MUTANT")) {
            read->set("chosen_mutant_on_device", static_cast<std::uint32_t>(std::atoi(chosen)));
        }
        return read;
    }
    std::vector<file> files_;
};

ptx::global_memory memory_of(const ptx::module& m) {
    std::vector<ptx::memory_block> blocks;
    blocks.reserve(known_blocks().size() + m.variables().size());
    for (const ptx::memory_block& variable : m.variables()) blocks.push_back(variable);
    for (const auto& [first, block] : known_blocks()) {
        if (block.size > 0) blocks.push_back(ptx::memory_block::of(first, block.size, block.written));
    }
    return ptx::global_memory(std::move(blocks));
}

}  // namespace

// A launch may be within a noexcept function, so nothing is thrown.
void run_compiled_kernel(const std::type_info& kernel_type, const void* kernel, std::size_t kernel_bytes,
                         const cordage::backend::launch_size& size) {
    const unrecorded_blocks ours;
    static compiled_kernels& all = *new compiled_kernels(CORDAGE_TEST_PTX);
    if (all.is_empty()) {
        std::puts("skipped: no nvcc");
        return;
    }
    const std::string type = ptx::demangled(kernel_type.name());
    try {
        const std::string name = "void cordage::backend::run_kernel<" + type + (type.ends_with('>') ? " >(" : ">(");
        const auto [module, full_name] = all.find(name);
        if (module == nullptr) throw ptx::error("no PTX has the kernel " + type);
        const auto to = [](const cordage::backend::index3& n) { return ptx::size3{n.x, n.y, n.z}; };
        const ptx::global_memory memory = memory_of(*module);
        const std::span argument(static_cast<const std::byte*>(kernel), kernel_bytes);
        const auto findings = ptx::launch(
            module->kernel(full_name), {to(size.blocks), to(size.threads), static_cast<std::size_t>(size.shared_bytes)},
            {argument}, memory);
        for (const ptx::finding& f : findings) FAIL_CHECK(f.text());
    } catch (const ptx::error& e) {
        FAIL_CHECK(e.what());
    }
}

}  // namespace cordage_test
