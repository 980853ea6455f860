# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where.
include(GNUInstallDirs)

if(TARGET pawld)
  install(TARGETS pawld RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(FILES ${CMAKE_SOURCE_DIR}/conf/pawld.cfg.example DESTINATION ${CMAKE_INSTALL_DOCDIR}
        OPTIONAL)
install(FILES ${CMAKE_SOURCE_DIR}/conf/pawld.service DESTINATION lib/systemd/system OPTIONAL)
