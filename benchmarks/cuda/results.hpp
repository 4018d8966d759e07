// SPDX-License-Identifier: MIT
// The output of a device benchmark: one JSON object, with a row for each measurement.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace cordage::benchmarks {

/// {"device": ..., "rows": [{"name": ..., "seconds": ...}, ...]}
class results {
 public:
    using numbers = std::vector<std::pair<std::string, double>>;

    void describe(const std::string& what, const std::string& text) {
        about_ += quoted(what) + ": " + quoted(text) + ", ";
    }
    void add(const std::string& name, const numbers& figures) {
        std::string row = "{\"name\": " + quoted(name);
        for (const auto& [figure, value] : figures) row += ", " + quoted(figure) + ": " + number(value);
        rows_ += (rows_.empty() ? "\n  " : ",\n  ") + row + "}";
    }
    std::string json() const { return "{" + about_ + "\"rows\": [" + rows_ + "\n]}\n"; }

 private:
    static std::string quoted(const std::string& text) {
        std::string all = "\"";
        for (const char c : text) {
            if (c == '"' || c == '\\') all += '\\';
            all += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        return all + "\"";
    }
    static std::string number(double value) {  // JSON has neither infinity nor NaN
        char text[32];
        std::snprintf(text, sizeof(text), "%.9g", value);
        return std::isfinite(value) ? text : "null";
    }
    std::string about_, rows_;
};

}  // namespace cordage::benchmarks
