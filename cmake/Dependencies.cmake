# SPDX-License-Identifier: Apache-2.0
# Everything comes from Debian's packages and is found by pkg-config; docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

pkg_check_modules(libuv REQUIRED IMPORTED_TARGET libuv>=1.44)
pkg_check_modules(openssl REQUIRED IMPORTED_TARGET openssl>=3.0)
pkg_check_modules(libnghttp2 REQUIRED IMPORTED_TARGET libnghttp2>=1.52)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate>=1.14)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd>=1.5)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(libcrypt REQUIRED IMPORTED_TARGET libcrypt>=4.4)
pkg_check_modules(libxxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
# A shared library costs every start its share of the loader's work: small ones are linked from their archives,
# where those are installed. OpenSSL stays shared, so that its security updates arrive without a build.
function(prefer_archive module archive)
  find_library(${module}_ARCHIVE ${archive} HINTS ${${module}_LIBDIR})
  if(${module}_ARCHIVE)
    set_target_properties(PkgConfig::${module} PROPERTIES INTERFACE_LINK_LIBRARIES
      "${${module}_ARCHIVE};Threads::Threads;${CMAKE_DL_LIBS}")
  endif()
endfunction()
prefer_archive(libuv libuv_a.a)
prefer_archive(libnghttp2 libnghttp2.a)
prefer_archive(libdeflate libdeflate.a)
prefer_archive(libzstd libzstd.a)
prefer_archive(yaml libyaml.a)
prefer_archive(libcrypt libcrypt.a)
prefer_archive(re2 libre2.a)

find_program(PROTOC protoc REQUIRED) # gRPC reflection tells what proto/ says

if(PROFRELAY_TESTS)
  pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()

# llhttp: Debian ships its C sources (package node-llhttp) without a pkg-config file. Strict mode must be
# set for the sources and for everyone who includes the header.
find_path(LLHTTP_INCLUDE_DIR llhttp.h PATHS /usr/share/include/llhttp REQUIRED)
find_path(LLHTTP_SOURCE_DIR llhttp.c PATHS /usr/share/llhttp REQUIRED)
add_library(llhttp STATIC ${LLHTTP_SOURCE_DIR}/llhttp.c ${LLHTTP_SOURCE_DIR}/http.c ${LLHTTP_SOURCE_DIR}/api.c)
target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE_DIR})
target_compile_definitions(llhttp PUBLIC LLHTTP_STRICT_MODE=1)
if(PROFRELAY_SANITIZE)
  target_compile_options(llhttp PRIVATE -fsanitize=${PROFRELAY_SANITIZE})
endif()
