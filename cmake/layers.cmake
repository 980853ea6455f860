# SPDX-License-Identifier: Apache-2.0
# One static library per folder of src/. Each links only what the table of ARCHITECTURE.md grants;
# test/tidy/includes.py holds every #include to the same table.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(EDIT REQUIRED IMPORTED_TARGET libedit)
find_library(SNAPPY_LIBRARY snappy REQUIRED)

function(pawl_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
  add_library(pawl_${name} STATIC ${sources})
  target_include_directories(pawl_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(pawl_${name} PUBLIC ${ARGN})
  set_property(GLOBAL APPEND PROPERTY PAWL_LAYERS pawl_${name}) # for library.cmake
  # build/lib is for what others link.
  set_target_properties(pawl_${name} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/layers)
endfunction()

pawl_layer(base ZLIB::ZLIB)
pawl_layer(os pawl_base Threads::Threads)
pawl_layer(tls pawl_os pawl_base OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
# cyrus-sasl is loaded when it is wanted (src/sasl/cyrus.h): its headers only.
pkg_check_modules(SASL REQUIRED libsasl2)
pawl_layer(sasl pawl_base Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(pawl_sasl PRIVATE _POSIX_C_SOURCE=200809L)
target_include_directories(pawl_sasl PRIVATE ${SASL_INCLUDE_DIRS})
pawl_layer(wire pawl_base)
pawl_layer(store pawl_wire pawl_base ZLIB::ZLIB ${SNAPPY_LIBRARY})
pawl_layer(quorum pawl_wire pawl_base)
pawl_layer(server pawl_store pawl_wire pawl_base OpenSSL::Crypto)
pawl_layer(member pawl_server pawl_quorum pawl_store pawl_wire pawl_base)
pawl_layer(daemon pawl_member pawl_server pawl_quorum pawl_store pawl_wire pawl_tls pawl_sasl pawl_os pawl_base
           PkgConfig::UV OpenSSL::Crypto Threads::Threads)
pawl_layer(client pawl_tls pawl_sasl pawl_os pawl_wire pawl_base ZLIB::ZLIB Threads::Threads)
target_compile_definitions(pawl_client PRIVATE _POSIX_C_SOURCE=200809L)
pawl_layer(recipes pawl_client pawl_base PkgConfig::JANSSON)
target_compile_definitions(pawl_recipes PRIVATE _POSIX_C_SOURCE=200809L)
# The daemon is POSIX throughout; libuv's header needs it said.
target_compile_definitions(pawl_daemon PRIVATE _POSIX_C_SOURCE=200809L)

# HTTP, and what looks at servers from outside, are for the programs alone: a server inside another
# program, and libpawl, do without. They use the client as others do; pawl takes their objects and has
# the client from libpawl.so (library.cmake).
pkg_check_modules(MICROHTTPD REQUIRED libmicrohttpd)
function(pawl_program_layer name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
  add_library(pawl_${name} STATIC ${sources})
  target_compile_definitions(pawl_${name} PRIVATE _GNU_SOURCE)
  target_include_directories(pawl_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(pawl_${name} PUBLIC ${ARGN})
  set_target_properties(pawl_${name} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/layers)
endfunction()
pawl_program_layer(look pawl_recipes pawl_client pawl_tls pawl_wire pawl_os pawl_base)
# Its header only: the library is loaded when it is wanted (src/http/mhd.h).
pawl_program_layer(http pawl_base ${CMAKE_DL_LIBS})
target_include_directories(pawl_http PUBLIC ${MICROHTTPD_INCLUDE_DIRS})
pawl_program_layer(console pawl_look pawl_http pawl_client pawl_wire pawl_os pawl_base PkgConfig::JANSSON)
file(GLOB page CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/console/page/*)
set(page_files ${CMAKE_BINARY_DIR}/page_files.c)
add_custom_command(
  OUTPUT ${page_files}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_SOURCE_DIR}/src/console/page -DOUT=${page_files}
          -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${page} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM COMMENT "Embedding the console's page")
target_sources(pawl_console PRIVATE ${page_files})

file(GLOB admin_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/admin/*.c)
add_library(pawl_admin STATIC ${admin_sources})
target_compile_definitions(pawl_admin PRIVATE _GNU_SOURCE)
target_link_libraries(pawl_admin PUBLIC pawl_console pawl_http pawl_daemon PkgConfig::JANSSON)
set_target_properties(pawl_admin PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/layers)

add_executable(pawld ${CMAKE_SOURCE_DIR}/src/pawld/main.c)
target_compile_definitions(pawld PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(pawld PRIVATE pawl_admin pawl_daemon)

# `pawl`, the command line: a program that uses libpawl as others do, and some of the lower layers
# for itself. local:DIR loads the server's half when it is asked for.
file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
add_executable(pawl ${cli_sources} ${CMAKE_SOURCE_DIR}/src/half/snappy.c)
target_compile_definitions(pawl PRIVATE _GNU_SOURCE)
