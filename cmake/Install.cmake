# Installs the standalone libraries (base, timely, differential) so that find_package(freshet) works.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(installed "")
foreach(module base timely_progress timely differential)
  if(TARGET ${module})
    list(APPEND installed ${module})
  endif()
endforeach()
install(TARGETS ${installed} EXPORT freshet-targets FILE_SET HEADERS)
install(EXPORT freshet-targets NAMESPACE freshet:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/freshet)
configure_package_config_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/freshet-config.cmake.in
    ${CMAKE_BINARY_DIR}/freshet-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/freshet)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/freshet-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/freshet-config.cmake ${CMAKE_BINARY_DIR}/freshet-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/freshet)
