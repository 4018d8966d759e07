// SPDX-License-Identifier: MIT
// cordage_conformance FOLDER: compares cordage with the golden data of a folder. Exit code 0 only if all of it passes.
#include <cstdio>
#include <iostream>

#include "runner.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: cordage_conformance FOLDER\n", stderr);
        return 2;
    }
    return conformance::run(argv[1], std::cout, std::cerr) ? 0 : 1;
}
