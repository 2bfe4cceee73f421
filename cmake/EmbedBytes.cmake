# SPDX-License-Identifier: Apache-2.0
# cmake -D IN=file -D OUT=file.c -D NAME=name -D HEADER=folder/name.h -P EmbedBytes.cmake: a file's bytes as the constant
# `const struct bytes NAME`, which HEADER declares. Others include this for the function.

# Appends to OUT.new.
function(append_array name file)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(APPEND "${OUT}.new" "static const uint8_t ${name}_bytes[] = {${bytes}};\n"
    "const struct bytes ${name} = {${name}_bytes, sizeof ${name}_bytes};\n")
endfunction()

if(DEFINED NAME)
  file(WRITE "${OUT}.new" "// Written by cmake/EmbedBytes.cmake.\n#include \"${HEADER}\"\n")
  append_array(${NAME} "${IN}")
  file(RENAME "${OUT}.new" "${OUT}")
endif()
