// SPDX-License-Identifier: MIT
// Reads golden data as typed values that know their place in the file, so that every error names it.
#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace conformance {

using cordage::index_t;
using cordage::message;

/// The file does not follow the schema: a field is missing, or has another type or shape.
struct malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An array of any number of axes, last index fastest.
struct tensor {
    std::vector<index_t> shape;
    std::vector<double> data;
};

/// One JSON value and its place, such as cases[3].weights.up.
class value {
 public:
    value(const nlohmann::json& json, std::string where) : json_(&json), where_(std::move(where)) {}

    const std::string& where() const { return where_; }
    const nlohmann::json& json() const { return *json_; }

    /// True if the field exists and is not null, which means "not given".
    bool has(const char* field) const {
        return json_->is_object() && json_->contains(field) && !(*json_)[field].is_null();
    }

    value operator[](const char* field) const {
        if (!json_->is_object()) throw malformed(where_ + " must be an object");
        if (!has(field)) throw malformed(where_ + " must have the field '" + field + "'");
        return {(*json_)[field], where_ + "." + field};
    }

    std::vector<value> items() const {
        if (!json_->is_array()) throw malformed(where_ + " must be an array");
        std::vector<value> all;
        for (std::size_t i = 0; i < json_->size(); ++i) all.emplace_back((*json_)[i], message(where_, "[", i, "]"));
        return all;
    }

    std::string text() const {
        if (!json_->is_string()) throw malformed(where_ + " must be a string");
        return json_->get<std::string>();
    }
    bool flag() const {
        if (!json_->is_boolean()) throw malformed(where_ + " must be true or false");
        return json_->get<bool>();
    }
    double number() const {
        if (!json_->is_number()) throw malformed(where_ + " must be a number");
        return json_->get<double>();
    }
    index_t integer() const {
        const double x = number();
        if (x != std::floor(x) || std::abs(x) > 0x1p53) throw malformed(where_ + " must be an integer");
        return static_cast<index_t>(x);
    }
    /// An integer of at least 1: a size or a count.
    index_t size() const {
        const index_t x = integer();
        if (x < 1) throw malformed(where_ + " must be >= 1");
        return x;
    }

    /// A plain array of numbers.
    std::vector<double> numbers() const {
        std::vector<double> all;
        if (!json_->is_array()) throw malformed(where_ + " must be an array of numbers");
        for (const auto& entry : *json_) {
            if (!entry.is_number()) throw malformed(where_ + " must hold numbers only");
            all.push_back(entry.get<double>());
        }
        return all;
    }
    std::vector<double> numbers(index_t count) const { return array({count}); }

    /// {"shape", "data"}, or a plain array as the tensor of one axis.
    tensor as_tensor() const {
        if (json_->is_array()) {
            tensor plain{{}, numbers()};
            plain.shape = {static_cast<index_t>(plain.data.size())};
            return plain;
        }
        tensor shaped{{}, (*this)["data"].numbers()};
        index_t product = 1;
        for (const value& axis : (*this)["shape"].items()) {
            const index_t length = axis.integer();
            if (length < 0 || (length > 0 && product > (index_t{1} << 40) / length)) {
                throw malformed(axis.where() + " is no length of an axis");
            }
            product *= length;
            shaped.shape.push_back(length);
        }
        if (product != static_cast<index_t>(shaped.data.size())) {
            throw malformed(
                message(where_, " must hold ", product, " numbers, as its shape says, and holds ", shaped.data.size()));
        }
        return shaped;
    }

    /// The numbers of an array that must have this shape.
    std::vector<double> array(std::initializer_list<index_t> shape) const {
        tensor found = as_tensor();
        if (!std::equal(shape.begin(), shape.end(), found.shape.begin(), found.shape.end())) {
            throw malformed(message(where_, " must have shape ", describe(shape), ", not ", describe(found.shape)));
        }
        return std::move(found.data);
    }

    static std::string describe(std::span<const index_t> shape) {
        std::string text = "[";
        for (const index_t length : shape) text += message(text.size() > 1 ? ", " : "", length);
        return text + "]";
    }

 private:
    const nlohmann::json* json_;
    std::string where_;
};

}  // namespace conformance
