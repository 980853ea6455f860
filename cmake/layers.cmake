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

# HTTP is for the program alone: a server inside another program, and libpawl, do without.
pkg_check_modules(MICROHTTPD REQUIRED libmicrohttpd)
file(GLOB admin_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/admin/*.c)
add_library(pawl_admin STATIC ${admin_sources})
target_compile_definitions(pawl_admin PRIVATE _GNU_SOURCE)
# Its header only: the library is loaded when it is wanted (src/admin/mhd.h).
target_include_directories(pawl_admin PUBLIC ${MICROHTTPD_INCLUDE_DIRS})
target_link_libraries(pawl_admin PUBLIC pawl_daemon PkgConfig::JANSSON ${CMAKE_DL_LIBS})
set_target_properties(pawl_admin PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/layers)

add_executable(pawld ${CMAKE_SOURCE_DIR}/src/pawld/main.c)
target_compile_definitions(pawld PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(pawld PRIVATE pawl_admin pawl_daemon)

# `pawl`, the command line: a program that uses libpawl as others do, and some of the lower layers
# for itself. local:DIR loads the server's half when it is asked for.
file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
add_executable(pawl ${cli_sources} ${CMAKE_SOURCE_DIR}/src/half/snappy.c)
target_compile_definitions(pawl PRIVATE _GNU_SOURCE)
