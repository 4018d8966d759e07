// SPDX-License-Identifier: MIT
// Writes a gnuplot script that contains the data, and runs it.
#include "plot.hpp"

#include <cstdio>
#include <numbers>
#include <set>
#include <sstream>
#include <string>

namespace inspect {
namespace {

/// Text as a string of gnuplot's.
std::string in_single_quotes(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
}

std::string terminal_of(const std::filesystem::path& picture) {
    if (picture.extension() == ".svg") return "svg size 900,540 font 'sans-serif,13' background 'white'";
    if (picture.extension() == ".png") return "pngcairo size 1800,1080 font 'sans-serif,13' fontscale 2 linewidth 2";
    throw cordage::value_error(cordage::message("plot: file ", picture.string(), " must end in .svg or .png"));
}

/// The t to draw: 1, the inspected one, and larger ones, for CLEX up to max_factor.
std::set<double> drawn_ratios(const inspection& seen) {
    std::set<double> ratios{1.0, seen.t};
    for (const double t : {2.0 * seen.t, 4.0 * seen.t}) {
        if (!seen.rope.clex || t <= seen.rope.clex->max_factor) ratios.insert(t);
    }
    return ratios;
}

/// Lines "pair wavelength" of one basis, without pairs that are not rotated.
std::string data_of(const cordage::basis& basis) {
    std::ostringstream lines;
    for (index_t pair = 0; pair < basis.pairs(); ++pair) {
        const double theta = basis.inv_freq()[static_cast<std::size_t>(pair)];
        if (theta != 0.0) lines << pair << ' ' << 2.0 * std::numbers::pi / theta << '\n';
    }
    return lines.str();
}

std::string script(const inspection& seen, const std::filesystem::path& picture) {
    const double original = seen.rope.config.original_length;
    const auto ratios = drawn_ratios(seen);
    std::ostringstream blocks, lines, out;
    int index = 0;
    for (const double t : ratios) {
        blocks << "$curve" << index << " << END\n"
               << data_of(cordage::make_basis(seen.rope.config, seen.rope.policy, t)) << "END\n";
        lines << (index == 0 ? "plot " : ", \\\n     ") << "$curve" << index << " with linespoints pt 7 ps 0.3 lw 2 dt "
              << (t > seen.t ? "'-'" : "1") << " title 't = " << t << "'";
        ++index;
    }
    out << "set terminal " << terminal_of(picture) << "\nset output " << in_single_quotes(picture.string()) << "\n"
        << blocks.str() << "set logscale y\nset grid lc rgb '#cccccc'\nset border 3\n"
        << "set xrange [0:" << seen.basis.pairs() << "]\nset xtics nomirror\nset ytics nomirror\n"
        << "set key top left reverse Left samplen 3\nset xlabel 'pair'\nset ylabel 'wavelength, positions'\n"
        << "set title " << in_single_quotes(seen.rope.rope_type + " " + seen.rope.layer_type) << " noenhanced\n"
        << (*ratios.rbegin() > seen.t ? "" : "#") << "set object 1 rectangle from graph 0, first " << original * seen.t
        << " to graph 1, first " << original * *ratios.rbegin() << " fc rgb '#e69f00' fs solid 0.25 noborder behind\n"
        << (*ratios.rbegin() > seen.t ? "" : "#") << "set label 1 'self-extending range' at graph 0.99, first "
        << original * seen.t * 1.4 << " right\n";
    for (const double t : {1.0, seen.t}) {
        out << "set arrow from graph 0, first " << original * t << " to graph 1, first " << original * t
            << " nohead dt 3 lc rgb '#555555'\n";
    }
    out << lines.str() << "\n";
    return out.str();
}

}  // namespace

void draw_wavelengths(const inspection& seen, const std::filesystem::path& picture) {
    const std::string commands = script(seen, picture);
    std::FILE* gnuplot = popen("gnuplot", "w");
    const bool written =
        gnuplot != nullptr && std::fwrite(commands.data(), 1, commands.size(), gnuplot) == commands.size();
    if (gnuplot == nullptr || pclose(gnuplot) != 0 || !written) {
        throw cordage::error(cordage::message("plot: gnuplot must be installed and able to draw ", picture.string()));
    }
}

}  // namespace inspect
