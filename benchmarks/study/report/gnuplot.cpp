// SPDX-License-Identifier: MIT
// Writing gnuplot's scripts and running them.
#include "report/gnuplot.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "report/formatted.hpp"

namespace demo {

constexpr const char* colours[] = {"#999999", "#56b4e9", "#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7"};

std::string line_style(std::size_t i, bool learns) {
    return formatted("lw 2 lc rgb '%s' dt %s", colours[i % std::size(colours)], learns ? "1" : "'-'");
}

std::string quoted(const std::string& text) {
    std::string made = "'";
    for (const char c : text) made += c == '\'' ? "''" : std::string(1, c);
    return made + "'";
}

void draw(const std::filesystem::path& folder, const std::string& name, int width, int height,
          const std::string& commands) {
    std::ofstream script(folder / (name + ".gp"));
    const auto output = [&](const std::string& terminal, const std::string& kind) {
        script << "set terminal " << terminal << "\nset output '" << name << "." << kind << "'\n"
               << commands << "unset output\nreset\n";
    };
    output(formatted("svg size %d,%d font 'sans-serif,13' background 'white'", width, height), "svg");
    output(formatted("pngcairo size %d,%d font 'sans-serif,13' fontscale 2 linewidth 2", 2 * width, 2 * height), "png");
    if (!script.flush()) throw std::runtime_error("demo: cannot write in " + folder.string());
    script.close();
    const std::string command = "cd '" + folder.string() + "' && gnuplot '" + name + ".gp'";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("demo: '" + command + "' failed");
}

std::string plot(const std::vector<curve>& curves, const std::string& block) {
    std::string blocks, lines;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const std::string name = formatted("$%s_%zu", block.c_str(), i);
        blocks += name + " << END\n" + curves[i].data + "END\n";
        lines += (i == 0 ? "plot " : ", \\\n     ") + name + " " + curves[i].style;
    }
    return blocks + lines + "\n";
}

}  // namespace demo
