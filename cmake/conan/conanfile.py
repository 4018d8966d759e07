# SPDX-License-Identifier: MIT
"""A recipe for Conan 2, of the checkout that it is a part of: `conan create cmake/conan`."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Cordage(ConanFile):
    name = "cordage"
    description = "Rotary position embeddings with continuous length scaling, header-only"
    license = "MIT"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"eigen": [True, False], "models": [True, False]}
    default_options = {"eigen": True, "models": False}
    option_descriptions = {
        "eigen": "what cordage::cordage needs; without it there is cordage::kernels",
        "models": "what cordage::models needs: the rules of models, read from their files",
    }
    implements = ["auto_header_only"]

    @property
    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._checkout, "include", "cordage", "version.hpp"))
        self.version = ".".join(re.findall(r"#define CORDAGE_VERSION_\w+ (\d+)", header))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*"):
            copy(self, pattern, self._checkout, self.export_sources_folder, excludes=("cmake/conan/*", "cmake/vcpkg/*"))

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("xsimd/[>=8.1]")
        if self.options.eigen or self.options.models:
            self.requires("eigen/[>=3.4]")
        if self.options.models:
            self.requires("nlohmann_json/[>=3.11]")

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCHMARKS", "EXAMPLES"):
            toolchain.cache_variables[f"CORDAGE_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # CMake reads the package's own files: the same targets, components and messages as everywhere.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "cordage")]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
