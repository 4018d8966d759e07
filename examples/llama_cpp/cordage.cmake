# SPDX-License-Identifier: MIT
# cordage in a build of llama.cpp; put_in.py makes llama.cpp's CMakeLists.txt include it at its end.
foreach(backend IN LISTS GGML_AVAILABLE_BACKENDS)
    if(NOT backend MATCHES "^ggml-(cpu|blas)$")
        message(FATAL_ERROR "cordage: backend ${backend} would rotate by itself; configure with its GGML_ option OFF "
                            "(GGML_CPU_ALL_VARIANTS and GGML_BACKEND_DL too)")
    endif()
endforeach()
if(NOT TARGET ggml-cpu OR NOT TARGET llama)
    message(FATAL_ERROR "cordage: targets ggml-cpu and llama must be built here; configure with LLAMA_USE_SYSTEM_GGML OFF")
endif()

# A file of ours in a target of llama.cpp, which compiles as C++17 else.
function(cordage_source target name)
    set(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name}")
    target_sources(${target} PRIVATE "${source}")
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES
        COMPILE_OPTIONS "-std=c++20;-O2;-Wno-uninitialized;-Wno-maybe-uninitialized;$<$<BOOL:${GGML_NATIVE}>:-march=native>"
        INCLUDE_DIRECTORIES "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../include")
endfunction()
cordage_source(ggml-cpu rope.cpp)
cordage_source(llama shift.cpp)
