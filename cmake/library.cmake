# SPDX-License-Identifier: Apache-2.0
# libpawl: all layers as one library, in two forms. Neither shows anything but pawl_*: the layers
# are compiled with hidden visibility, and PAWL_API (pawl/api.h) makes the exceptions.
set(PAWL_SOVERSION 0)
set(client_layers base os sasl wire client recipes)
set(server_layers base os tls sasl wire store quorum server member daemon)

# pawl_objects(VARIABLE LAYER...)
function(pawl_objects variable)
  set(found "")
  foreach(layer ${ARGN})
    list(APPEND found $<TARGET_OBJECTS:pawl_${layer}>)
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# The shared form is two files: a client must not have to load what only a server needs. The first
# loads the second when that is asked for; see src/half/half.h.
function(pawl_half target name half_source)
  add_library(${target} SHARED ${ARGN} ${CMAKE_SOURCE_DIR}/src/half/${half_source})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src
                             PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
  target_compile_definitions(${target} PRIVATE
                             SERVER_HALF_FILE="libpawl-server.so.${PAWL_SOVERSION}"
                             TLS_HALF_FILE="libpawl-tls.so.${PAWL_SOVERSION}")
  set_target_properties(${target} PROPERTIES
                        OUTPUT_NAME ${name} EXPORT_NAME ${name} LINKER_LANGUAGE C
                        VERSION ${PROJECT_VERSION} SOVERSION ${PAWL_SOVERSION})
  if(NOT PAWL_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# pawl_symbols(TARGET MAP): what it shows, and under which version; cmake/MAP says it once more than
# the marks in the sources, so that nothing of a library that is linked in gets out.
function(pawl_symbols target map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/${map})
endfunction()

# build/lib/libpawl.so
pawl_objects(client_objects ${client_layers})
pawl_half(pawl_shared pawl load.c ${client_objects} ${CMAKE_SOURCE_DIR}/src/half/json.c
          ${CMAKE_SOURCE_DIR}/src/half/tls_load.c)
target_include_directories(pawl_shared PRIVATE ${JANSSON_INCLUDE_DIRS})
target_link_libraries(pawl_shared PRIVATE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
pawl_symbols(pawl_shared libpawl.map)

# build/lib/libpawl-server.so
pawl_objects(server_objects ${server_layers})
pawl_half(pawl_server_half pawl-server table.c ${server_objects})
target_link_libraries(pawl_server_half PRIVATE ZLIB::ZLIB OpenSSL::SSL OpenSSL::Crypto PkgConfig::UV
                      ${SNAPPY_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
pawl_symbols(pawl_server_half server_half.map)

# build/lib/libpawl-tls.so
pawl_objects(tls_objects tls)
pawl_half(pawl_tls_half pawl-tls tls_table.c ${tls_objects})
target_link_libraries(pawl_tls_half PRIVATE pawl_os pawl_base OpenSSL::SSL OpenSSL::Crypto
                      Threads::Threads)
pawl_symbols(pawl_tls_half tls_half.map)
add_dependencies(pawl_shared pawl_server_half pawl_tls_half)

# build/lib/libpawl.a: archives have no visibility, so a function `list_init` of ours would clash
# with one of yours. As one object, in which what is hidden has become local, it cannot.
get_property(layers GLOBAL PROPERTY PAWL_LAYERS)
string(REPLACE "pawl_" "" every_layer "${layers}")
pawl_objects(objects ${every_layer})
set(static_library ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libpawl.a)
set(whole ${CMAKE_CURRENT_BINARY_DIR}/pawl.o)
add_custom_command(
  OUTPUT ${static_library}
  COMMAND ${CMAKE_LINKER} -r -o ${whole} ${objects}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${static_library}
  COMMAND ${CMAKE_AR} rcs ${static_library} ${whole}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${whole}
  DEPENDS ${objects}
  COMMAND_EXPAND_LISTS VERBATIM COMMENT "Linking libpawl.a")
add_custom_target(pawl_static_file ALL DEPENDS ${static_library})
add_dependencies(pawl_static_file ${layers})

# For examples and tests of our own that use the library as others do.
add_library(pawl_static STATIC IMPORTED GLOBAL)
add_dependencies(pawl_static pawl_static_file)
set_target_properties(pawl_static PROPERTIES IMPORTED_LOCATION ${static_library})
target_include_directories(pawl_static INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(pawl_static INTERFACE ZLIB::ZLIB OpenSSL::SSL OpenSSL::Crypto PkgConfig::UV
                      PkgConfig::JANSSON ${SNAPPY_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})

pawl_objects(program_objects look http console)
target_sources(pawl PRIVATE ${CMAKE_SOURCE_DIR}/src/half/tls_load.c ${program_objects})
target_include_directories(pawl PRIVATE ${MICROHTTPD_INCLUDE_DIRS})
target_compile_definitions(pawl PRIVATE TLS_HALF_FILE="libpawl-tls.so.${PAWL_SOVERSION}")
# Of the server's layers it has what reads files. What only a server needs (libsnappy, libuv) is not
# to be loaded by each `pawl get`: half/snappy.c stands for the first, and nothing uses the others.
target_link_libraries(pawl PRIVATE pawl_shared pawl_daemon pawl_store pawl_wire pawl_os pawl_base
                      PkgConfig::JANSSON PkgConfig::EDIT Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(pawl PRIVATE -Wl,--as-needed)
set_target_properties(pawl PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
