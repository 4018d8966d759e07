// SPDX-License-Identifier: MIT
// Names of rows that several files refer to.
#pragma once

namespace demo::row {

inline constexpr const char* no_scaling = "no scaling";
inline constexpr const char* linear = "PI";
inline constexpr const char* ntk_aware = "NTK-aware";
inline constexpr const char* by_parts = "by parts";
inline constexpr const char* by_parts_log_scaled = "by parts + log scaling";
/// The baseline of learned bases: ramp, interpolation and temperature are searched for the model.
inline constexpr const char* by_parts_searched = "by parts, searched";
inline constexpr const char* learned = "learned basis + temperature";
/// Half of the budget searches the ramp, half learns over it.
inline constexpr const char* searched_then_by_head = "by parts, searched, then temperature by head";
inline constexpr const char* searched_then_learned = "by parts, searched, then learned";
inline constexpr const char* searched_then_by_layer = "by parts, searched, then learned by layer";
inline constexpr const char* learned_by_head = "learned basis + temperature, temperature by head";
inline constexpr const char* learned_no_temperature = "learned basis, no temperature";
inline constexpr const char* clex_log_time = "CLEX in log time + temperature";
inline constexpr const char* clex_all_t = "CLEX in log time + temperature, all t";
inline constexpr const char* five_knots_all_t = "learned basis of five knots + temperature, all t";
/// Behind the name of a row whose loss is that of copies and values alone.
inline constexpr const char* from_labels = ", from copies and values";
// Of the real model.
inline constexpr const char* by_parts_4_16 = "by parts 4 … 16";
inline constexpr const char* by_parts_1_32 = "by parts 1 … 32, t = n / 4096";
inline constexpr const char* clex_all_n = "CLEX, one rule for all n";
inline constexpr const char* searched_for_n = "by parts, searched for n";
inline constexpr const char* table_for_n = "table learned for n";
inline constexpr const char* learned_from_none = "learned from no scaling";

}  // namespace demo::row
