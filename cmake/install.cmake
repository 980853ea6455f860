# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where. Paths inside the files it writes are relative to where they are
# found, so the tree may be moved as a whole.
include(CMakePackageConfigHelpers)

install(TARGETS pawl pawld RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS pawl_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Loaded by libpawl.so, linked by nobody: without the name that linkers look for.
install(TARGETS pawl_server_half pawl_tls_half LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
install(FILES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libpawl.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

# pkg-config --cflags --libs pawl; with --static for libpawl.a
file(RELATIVE_PATH PAWL_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PAWL_PC_UP "${PAWL_PC_UP}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/pawl.pc.in ${CMAKE_BINARY_DIR}/pawl.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(pawl), then link pawl::pawl or pawl::static
set(PAWL_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/pawl-config.cmake.in
                              ${CMAKE_BINARY_DIR}/pawl-config.cmake
                              INSTALL_DESTINATION ${PAWL_CMAKE_FOLDER}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/pawl-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/pawl-config.cmake ${CMAKE_BINARY_DIR}/pawl-config-version.cmake
        DESTINATION ${PAWL_CMAKE_FOLDER})

# Manual pages of the library, made from its headers: build/man3
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/pawl/*.h)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/man3/pawl.3
  COMMAND ${CMAKE_SOURCE_DIR}/docs/man3.sh ${CMAKE_BINARY_DIR}/man3
  DEPENDS ${headers} ${CMAKE_SOURCE_DIR}/docs/man3.sh ${CMAKE_SOURCE_DIR}/docs/man3.awk
  VERBATIM COMMENT "Making manual pages")
# And one for each command of pawl: build/man1
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/man1/pawl-lock.1
  COMMAND ${CMAKE_SOURCE_DIR}/docs/man1.sh $<TARGET_FILE:pawl> ${CMAKE_BINARY_DIR}/man1
  DEPENDS pawl ${CMAKE_SOURCE_DIR}/docs/man1.sh ${CMAKE_SOURCE_DIR}/docs/man1.awk ${CMAKE_SOURCE_DIR}/docs/pawl.1
  VERBATIM COMMENT "Making manual pages of commands")
add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/man3/pawl.3 ${CMAKE_BINARY_DIR}/man1/pawl-lock.1)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3
        FILES_MATCHING PATTERN "*.3")

file(GLOB man8 CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.8)
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${CMAKE_SOURCE_DIR}/docs/pawl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${man8} DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
# As they lie in the sources, so that the links between them lead somewhere.
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/pictures DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES ${CMAKE_SOURCE_DIR}/conf/pawld.cfg.example
              ${CMAKE_SOURCE_DIR}/conf/prometheus-alerts.yml
              ${CMAKE_SOURCE_DIR}/conf/grafana-dashboard.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/conf)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
              ${CMAKE_SOURCE_DIR}/ARCHITECTURE.md ${CMAKE_SOURCE_DIR}/CONTRIBUTING.md
              ${CMAKE_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.c" PATTERN "*.h")

# What shells need to complete the words of pawl: printed by itself, from its table of commands.
set(completions ${CMAKE_BINARY_DIR}/completions)
add_custom_command(
  OUTPUT ${completions}/pawl ${completions}/_pawl ${completions}/pawl.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
  COMMAND pawl completions bash > ${completions}/pawl
  COMMAND pawl completions zsh > ${completions}/_pawl
  COMMAND pawl completions fish > ${completions}/pawl.fish
  DEPENDS pawl COMMENT "Printing completions")
add_custom_target(completions ALL DEPENDS ${completions}/pawl)
install(FILES ${completions}/pawl DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/_pawl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/pawl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# The unit names the program by its full path, which is known only at the time of installing. It is
# written to its place at once: two who install from one build do not meet.
install(CODE "
  set(PAWLD \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/pawld\")
  set(unit \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/pawld.service\")
  message(STATUS \"Installing: \$ENV{DESTDIR}\${unit}\")
  configure_file(\"${CMAKE_SOURCE_DIR}/conf/pawld.service.in\" \"\$ENV{DESTDIR}\${unit}\" @ONLY)")
