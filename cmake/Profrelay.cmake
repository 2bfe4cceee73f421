# SPDX-License-Identifier: Apache-2.0
# Compiler settings and the four functions that the folders' CMakeLists.txt use.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 17) # for base/re2_program.cc alone
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")

add_library(profrelay_options INTERFACE)
target_include_directories(profrelay_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_definitions(profrelay_options INTERFACE _GNU_SOURCE PROFRELAY_VERSION="${PROJECT_VERSION}")
target_compile_options(profrelay_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wno-format-truncation
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  $<$<BOOL:${PROFRELAY_WERROR}>:-Werror>)
target_link_options(profrelay_options INTERFACE -Wl,--as-needed)
if(NOT PROFRELAY_SANITIZE)
  target_link_options(profrelay_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
if(PROFRELAY_SANITIZE)
  target_compile_options(profrelay_options INTERFACE -fsanitize=${PROFRELAY_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(profrelay_options INTERFACE -fsanitize=${PROFRELAY_SANITIZE})
endif()
if(PROFRELAY_FUZZ)
  target_compile_options(profrelay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(PROFRELAY_COVERAGE)
  target_compile_options(profrelay_options INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(profrelay_options INTERFACE -fprofile-instr-generate)
endif()

# profrelay_library(NAME SOURCES a.c ... USES other folders ... LIBS PkgConfig::X ...)
function(profrelay_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC profrelay_options ${ARG_USES} PRIVATE ${ARG_LIBS})
endfunction()

# profrelay_unit_test(SOURCE USES folder ...): a cmocka program named after its file, run by ctest as
# unit/FOLDER/NAME.
function(profrelay_unit_test source)
  cmake_parse_arguments(ARG "" "" "USES;LIBS" ${ARGN})
  cmake_path(GET source STEM stem)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  set(target "unit_${folder}_${stem}")
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE ${ARG_USES} ${ARG_LIBS} test_support PkgConfig::cmocka)
  add_test(NAME unit/${folder}/${stem} COMMAND ${target})
  set_tests_properties(unit/${folder}/${stem} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

# profrelay_fuzz_target(SOURCE USES folder ...): only with PROFRELAY_FUZZ.
function(profrelay_fuzz_target source)
  if(NOT PROFRELAY_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "USES;LIBS" ${ARGN})
  cmake_path(GET source STEM stem)
  add_executable(${stem} ${source})
  target_link_libraries(${stem} PRIVATE ${ARG_USES} ${ARG_LIBS})
  target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
endfunction()
