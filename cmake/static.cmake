# SPDX-License-Identifier: Apache-2.0
# `make static`: pawld and pawl as single files in build/static, which need no library of the system. What
# they are made of is compiled already; this links it once more, all layers with the archives of the libraries.
set(static_archives "")
set(static_missing "")
# Debian calls libuv's archive libuv_a. Of those that follow "optional" what is there is linked.
foreach(name uv_a jansson snappy ssl crypto z optional microhttpd edit bsd md tinfo sasl2)
  if(name STREQUAL "optional")
    set(optional TRUE)
    continue()
  endif()
  find_library(STATIC_${name} NAMES lib${name}.a NO_CACHE)
  if(STATIC_${name})
    list(APPEND static_archives ${STATIC_${name}})
  elseif(NOT optional)
    list(APPEND static_missing lib${name}.a)
  endif()
endforeach()

# libedit's archive shows names of its own making, such as map_init, which is one of ours as well: only those of
# its header are left.
if(STATIC_edit)
  set(static_edit ${CMAKE_BINARY_DIR}/static/libedit.o)
  add_custom_command(
    OUTPUT ${static_edit}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/static
    COMMAND ${CMAKE_LINKER} -r --whole-archive ${STATIC_edit} -o ${static_edit}
    COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=el_*" "--keep-global-symbol=history*" ${static_edit}
    VERBATIM)
  list(REMOVE_ITEM static_archives ${STATIC_edit})
  set_source_files_properties(${static_edit} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
endif()

# static_program(TARGET LAYER...): TARGET once more, with layers that are the program's alone, and without what
# stands in for libraries that are loaded later. HTTP is still loaded, so that a static pawld, and pawl
# console, have none where the system has no libmicrohttpd.
function(static_program target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "/src/half/")
  get_target_property(definitions ${target} COMPILE_DEFINITIONS)
  if(target STREQUAL "pawl")
    list(APPEND sources ${static_edit})
  endif()
  add_executable(${target}_static_program EXCLUDE_FROM_ALL ${sources} ${objects})
  target_compile_definitions(${target}_static_program PRIVATE ${definitions})
  target_include_directories(${target}_static_program PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  # snappy is C++; names are looked up by what glibc has inside (files and DNS).
  target_link_options(${target}_static_program PRIVATE -static)
  target_link_libraries(${target}_static_program PRIVATE ${ARGN} -Wl,--start-group ${static_archives} -Wl,--end-group
                        stdc++ m dl pthread)
  set_target_properties(${target}_static_program PROPERTIES OUTPUT_NAME ${target}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static)
endfunction()

if(static_missing OR PAWL_SANITIZE)
  add_custom_target(static_programs COMMAND ${CMAKE_COMMAND} -E echo "missing: ${static_missing} ${PAWL_SANITIZE}"
                    COMMAND ${CMAKE_COMMAND} -E false)
else()
  static_program(pawld $<TARGET_FILE:pawl_admin> $<TARGET_FILE:pawl_console> $<TARGET_FILE:pawl_look>
                 $<TARGET_FILE:pawl_http>)
  static_program(pawl)
  add_custom_target(static_programs DEPENDS pawld_static_program pawl_static_program)
endif()
