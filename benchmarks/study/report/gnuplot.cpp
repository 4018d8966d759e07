// SPDX-License-Identifier: MIT
// Writing gnuplot's scripts and running them.
#include "report/gnuplot.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>

#include "report/formatted.hpp"
#include "row_names.hpp"

namespace demo {

std::string colour_of(const std::string& row) {
    static const std::map<std::string, std::string> colours{{row::no_scaling, "#888888"},
                                                            {row::linear, "#cc79a7"},
                                                            {row::ntk_aware, "#e69f00"},
                                                            {"YaRN", "#4f6d7a"},
                                                            {row::by_parts, "#56b4e9"},
                                                            {row::by_parts_4_16, "#56b4e9"},
                                                            {row::by_parts_1_32, "#b8860b"},
                                                            {row::searched_for_n, "#b8860b"},
                                                            {row::table_for_n, "#009e73"},
                                                            {row::clex_all_n, "#d55e00"},
                                                            {row::by_parts_log_scaled, "#0072b2"},
                                                            {row::by_parts_searched, "#b8860b"},
                                                            {row::searched_then_by_head, "#009e73"},
                                                            {row::learned, "#d55e00"},
                                                            {row::searched_then_learned, "#a01020"},
                                                            {row::searched_then_by_layer, "#a01020"},
                                                            {row::clex_log_time, "#a0307d"},
                                                            {row::clex_all_t, "#e377c2"}};
    if (const auto own = colours.find(row); own != colours.end()) return own->second;
    const std::string suffix = " + log scaling";
    return row.ends_with(suffix) ? colour_of(row.substr(0, row.size() - suffix.size())) : "#bbbbbb";
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
