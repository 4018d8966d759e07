// SPDX-License-Identifier: MIT
// Pieces of SVG that plot_layouts and plot_positions draw with.
#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "cordage/core/error.hpp"

namespace svg {

inline std::string number(double x) { return cordage::message(x); }

inline std::string text(double x, double y, const std::string& words, const std::string& attributes = "") {
    std::string escaped;
    for (const char c : words) escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return "<text x='" + number(x) + "' y='" + number(y) + "'" + attributes + ">" + escaped + "</text>\n";
}

inline std::string box(double x, double y, double w, double h, const std::string& attributes) {
    return "<rect x='" + number(x) + "' y='" + number(y) + "' width='" + number(w) + "' height='" + number(h) + "'" +
           attributes + "/>\n";
}

/// A title at the left and a call of the library at the right, in the first line.
inline std::string title(double left, double right, const std::string& words, const std::string& call) {
    return text(left, 22, words, " font-weight='bold'") +
           text(right, 22, call, " text-anchor='end' font-family='monospace' font-size='11'");
}

inline std::string picture(const std::string& body, int width, int height) {
    return "<svg xmlns='http://www.w3.org/2000/svg' width='" + std::to_string(width) + "' height='" +
           std::to_string(height) + "' viewBox='0 0 " + std::to_string(width) + " " + std::to_string(height) +
           "' font-family='sans-serif' font-size='12' fill='#333333'>\n"
           "<rect width='100%' height='100%' rx='6' fill='#ffffff'/>\n" +
           body + "</svg>\n";
}

inline void write(const std::filesystem::path& folder, const std::string& name, const std::string& picture) {
    std::ofstream out(folder / (name + ".svg"));
    out << picture;
    if (!out.flush()) throw std::runtime_error("cannot write " + (folder / (name + ".svg")).string());
}

/// main of a program that draws into the folder of its one argument.
template <class Draw>
int run(int argc, char** argv, const Draw& draw) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    try {
        std::filesystem::create_directories(argv[1]);
        draw(std::filesystem::path(argv[1]));
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
        return 1;
    }
}

}  // namespace svg
