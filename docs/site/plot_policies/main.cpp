// SPDX-License-Identifier: MIT
// Draws the pictures of docs/methods into a folder: plot_policies FOLDER.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "pictures.hpp"

namespace {

void write(const std::filesystem::path& folder, const std::vector<picture>& pictures) {
    for (const picture& drawn : pictures) {
        const std::filesystem::path file = folder / (drawn.name + ".svg");
        std::ofstream out(file);
        out << svg_of(drawn.panels, drawn.columns);
        if (!out.flush()) throw std::runtime_error("plot_policies: cannot write " + file.string());
        std::printf("%s\n", file.string().c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: plot_policies FOLDER\n", stderr);
        return 2;
    }
    try {
        const std::filesystem::path folder = argv[1];
        std::filesystem::create_directories(folder);
        write(folder, pictures_of_policies());
        write(folder, pictures_of_learned_policies());
        write(folder, pictures_beside_the_rotation());
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
