# SPDX-License-Identifier: Apache-2.0
# libpawl: all layers as one library, in two forms. Neither shows anything but pawl_*: the layers
# are compiled with hidden visibility, and PAWL_API (pawl/api.h) makes the exceptions.
get_property(layers GLOBAL PROPERTY PAWL_LAYERS)
set(PAWL_SOVERSION 0)

set(objects "")
foreach(layer ${layers})
  list(APPEND objects $<TARGET_OBJECTS:${layer}>)
endforeach()

# build/lib/libpawl.so
add_library(pawl_shared SHARED ${objects})
set_target_properties(pawl_shared PROPERTIES
                      OUTPUT_NAME pawl EXPORT_NAME pawl LINKER_LANGUAGE C
                      VERSION ${PROJECT_VERSION} SOVERSION ${PAWL_SOVERSION})
target_include_directories(pawl_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
target_link_libraries(pawl_shared PRIVATE ZLIB::ZLIB OpenSSL::Crypto PkgConfig::UV
                      PkgConfig::JANSSON ${SNAPPY_LIBRARY} Threads::Threads)
if(NOT PAWL_SANITIZE)
  target_link_options(pawl_shared PRIVATE -Wl,--no-undefined)
endif()

# build/lib/libpawl.a: archives have no visibility, so a function `list_init` of ours would clash
# with one of yours. As one object, in which what is hidden has become local, it cannot.
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
target_link_libraries(pawl_static INTERFACE ZLIB::ZLIB OpenSSL::Crypto PkgConfig::UV
                      PkgConfig::JANSSON ${SNAPPY_LIBRARY} Threads::Threads)
