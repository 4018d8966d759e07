// SPDX-License-Identifier: MIT
// A row's result as lines of text. What is read is held against what may be written, field by field.
#include "observation.hpp"

#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "cordage/core/error.hpp"

namespace demo {
namespace {

using cordage::digits_of;
using cordage::in_quotes;

constexpr double endless = std::numeric_limits<double>::infinity();

// What numbers a field may have.
template <class Number>
struct range {
    Number lowest, highest;
    const char* expected;
};
constexpr range<index_t> counts{0, cordage::most_elements, "an integer >= 0"};
constexpr range<index_t> lengths{1, cordage::most_elements, "an integer >= 1"};
constexpr range<double> finite{-std::numeric_limits<double>::max(), std::numeric_limits<double>::max(), "finite"};

range<double> values_of(measure what) {
    if (what == measure::match) return {0.0, 1.0, "0 or 1"};
    if (what == measure::copy_hit || what == measure::plain_hit) return {0.0, 1.0, "a share, 0 ... 1"};
    return {0.0, endless, "nats, 0 ... inf"};
}

// The lines of a file, taken word by word; words are one space apart.
class line_reader {
 public:
    line_reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

    void next_line(const std::string& expected) {
        ++number_;
        if (!std::getline(in_, line_)) refuse("the file ends where " + expected + " must be; run this row again");
        left_ = line_;
    }
    // The next line, which begins with that word.
    void next_field(const char* field) {
        next_line(in_quotes(field));
        if (const std::string_view found = word(); found != field) refuse("field", found, in_quotes(field));
    }
    bool is_at_end() const { return left_.empty(); }

    std::string_view word() {
        const std::size_t space = left_.find(' ');
        const std::string_view taken = left_.substr(0, space);
        left_ = space == left_.npos ? std::string_view() : left_.substr(space + 1);
        return taken;
    }
    std::string rest() { return std::string(std::exchange(left_, {})); }

    template <class Number>
    Number number(const char* field, const range<Number>& allowed) {
        const std::string_view text = word();
        Number value{};
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = problem == std::errc() && end == text.data() + text.size();
        if (!is_number || !(value >= allowed.lowest && value <= allowed.highest)) refuse(field, text, allowed.expected);
        return value;
    }
    void require_end() {
        if (!is_at_end()) refuse("what follows", left_, "no part of this line");
    }

    void require_end_of_file() {
        if (!std::getline(in_, line_)) return;
        ++number_;
        refuse("what follows 'end' must be nothing");
    }

    [[noreturn]] void refuse(const char* field, std::string_view text, const std::string& expected) const {
        refuse(cordage::message(field, " ", in_quotes(text), " must be ", expected));
    }

 private:
    [[noreturn]] void refuse(const std::string& problem) const {
        throw std::runtime_error(cordage::message(name_, ":", number_, ": ", problem));
    }

    std::istream& in_;
    const std::string& name_;
    std::string line_;
    std::string_view left_;
    index_t number_ = 0;
};

measure measure_named(std::string_view name, const line_reader& line) {
    for (const measure what : all_measures) {
        if (name_of(what) == name) return what;
    }
    line.refuse("measure", name,
                "match, copy_loss, value_loss, plain_loss, copy_hit or plain_hit, or 'end' after the last line");
}

observation read_observation(measure what, line_reader& line) {
    const auto length = line.number("length", lengths);
    const auto window = line.number("window", counts);
    const auto distance = line.number("distance", range<index_t>{0, length, "an integer, 0 ... length"});
    const double value = line.number("value", values_of(what));
    if (what == measure::match && value != 0.0 && value != 1.0) {
        line.refuse("value", digits_of(value), values_of(what).expected);
    }
    return {what, length, window, distance, value};
}

void write_lines(std::ostream& out, const row_result& r) {
    out << "settings " << r.settings << "\nrow " << r.row << "\nseed " << r.seed << "\ntoken_forwards "
        << r.token_forwards << "\nseconds " << digits_of(r.seconds) << "\npolicy_parameters";
    for (const double parameter : r.policy_parameters) out << ' ' << digits_of(parameter);
    out << '\n';
    for (const observation& o : r.observations) {
        out << name_of(o.what) << ' ' << o.length << ' ' << o.window << ' ' << o.distance << ' ' << digits_of(o.value)
            << '\n';
    }
    out << "end\n";
}

}  // namespace

std::string_view name_of(measure what) {
    constexpr std::string_view names[] = {"match", "copy_loss", "value_loss", "plain_loss", "copy_hit", "plain_hit"};
    return names[static_cast<std::size_t>(what)];
}

double mean_of(std::span<const observation> all, measure what, std::optional<index_t> length) {
    double sum = 0.0, count = 0.0;
    for (const observation& o : all) {
        if (o.what != what || o.length != length.value_or(o.length)) continue;
        sum += o.value;
        ++count;
    }
    return sum / count;
}

void write(std::ostream& out, const row_result& r) {
    std::stringstream text;
    write_lines(text, r);
    if (read_row_result(text, "row result") != r) {
        throw std::runtime_error("row result: settings and row must each be one line");
    }
    out << text.str();
}

row_result read_row_result(std::istream& in, const std::string& name) {
    line_reader line(in, name);
    row_result r;
    line.next_field("settings");
    r.settings = line.rest();
    line.next_field("row");
    r.row = line.rest();
    line.next_field("seed");
    r.seed = line.number("seed", range<std::uint64_t>{0, std::numeric_limits<std::uint64_t>::max(), "an integer >= 0"});
    line.require_end();
    line.next_field("token_forwards");
    r.token_forwards = line.number("token_forwards", counts);
    line.require_end();
    line.next_field("seconds");
    r.seconds = line.number("seconds", range<double>{0.0, finite.highest, "finite and >= 0"});
    line.require_end();
    line.next_field("policy_parameters");
    while (!line.is_at_end()) r.policy_parameters.push_back(line.number("policy_parameters", finite));
    while (true) {
        line.next_line("an observation or 'end'");
        const std::string_view first = line.word();
        if (first == "end") break;
        r.observations.push_back(read_observation(measure_named(first, line), line));
        line.require_end();
    }
    line.require_end();
    line.require_end_of_file();
    return r;
}

void save(const row_result& r, const std::filesystem::path& file) {
    std::filesystem::path part = file;
    part += ".part";
    std::ofstream out(part);
    write(out, r);
    out.close();
    if (!out) throw std::runtime_error("row result: cannot write " + part.string());
    std::filesystem::rename(part, file);
}

row_result load_row_result(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("row result: cannot read " + file.string());
    return read_row_result(in, file.string());
}

}  // namespace demo
