// SPDX-License-Identifier: MIT
// Finds the golden files, sorts their cases by kind and runs the check of each kind.
#include "runner.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <ostream>
#include <set>

#include "kinds.hpp"

namespace conformance {
namespace {

namespace fs = std::filesystem;

/// The kind of a case, by its name and, if two kinds share it, by the field that distinguishes them.
const kind& kind_of(const value& one_case) {
    const std::string name = one_case["kind"].text();
    for (const auto list :
         {angles_kinds(), baselines_kinds(), clex_paper_kinds(), clex_released_kinds(), diffusers_kinds(),
          lerope_kinds(), multimodal_kinds(), policies_kinds(), released_kinds(), rope_apply_kinds(), tower_kinds()}) {
        for (const kind& k : list) {
            if (name == k.name && (k.marked_by == nullptr || one_case.has(k.marked_by))) return k;
        }
    }
    throw malformed(one_case.where() + ": no kind '" + name + "' with these fields is known");
}

void check_case(const value& one_case, report& result) {
    try {
        const kind& k = kind_of(one_case);
        if (k.check == nullptr) throw unsupported("cordage has nothing for this kind");
        k.check(one_case, result);
        result.end_case();
    } catch (const unsupported& why) {
        result.lacks(why.what());
    } catch (const std::exception& why) {
        result.fail(why.what());
    }
}

/// One report for each kind. Errors of the file as a whole are failures of the kind "file".
std::map<std::string, report> check_file(const fs::path& path) {
    std::map<std::string, report> by_kind;
    try {
        std::ifstream in(path);
        if (!in) throw malformed("the file cannot be opened");
        const auto json = nlohmann::json::parse(in);
        const auto cases = value(json, "file")["cases"].items();
        if (cases.empty()) throw malformed("cases must not be empty");
        std::set<std::pair<std::string, std::string>> names;
        for (const value& one_case : cases) {
            const std::string name = one_case["name"].text(), kind_name = one_case["kind"].text();
            if (!names.emplace(kind_name, name).second) {
                throw malformed(one_case.where() + ": name '" + name + "' must be unique within its kind");
            }
            report& result = by_kind[kind_name];
            result.begin_case(name);
            check_case(one_case, result);
        }
    } catch (const std::exception& why) {
        by_kind["file"].fail(why.what());
    }
    return by_kind;
}

std::vector<fs::path> golden_files(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

bool run(const fs::path& folder, std::ostream& lines, std::ostream& reasons) {
    std::vector<fs::path> files;
    try {
        files = golden_files(folder);
    } catch (const fs::filesystem_error& why) {
        reasons << why.what() << '\n';
        return false;
    }
    if (files.empty()) {
        reasons << folder.string() << ": no golden file (*.json) in this folder\n";
        return false;
    }
    bool all_pass = true;
    for (const fs::path& file : files) {
        const std::string stem = file.lexically_relative(folder).replace_extension().generic_string();
        for (const auto& [name, result] : check_file(file)) {
            lines << result.verdict() << ' ' << stem << '/' << name << " cases=" << result.cases()
                  << " worst=" << result.worst() << " tolerance=" << result.tolerance() << std::endl;
            for (const auto& why : result.failures()) reasons << "  fail " << stem << '/' << name << " " << why << '\n';
            for (const auto& why : result.gaps()) {
                reasons << "  unsupported " << stem << '/' << name << " " << why << '\n';
            }
            all_pass = all_pass && result.passes();
        }
    }
    return all_pass;
}

}  // namespace conformance
