# One static library a folder, one test executable a subject.

# thinwire_library(<folder> SOURCES ... DEPENDS ...): target thinwire_<folder>.
function(thinwire_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(thinwire_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(thinwire_${folder} PUBLIC thinwire_flags ${ARG_DEPENDS})
endfunction()

# thinwire_program(<name> SOURCES ... DEPENDS ...): an executable in build/bin.
function(thinwire_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE thinwire_flags ${ARG_DEPENDS})
endfunction()

# thinwire_label(<target> <label>): target tests_<label> builds what the tests of that label run.
function(thinwire_label target label)
  if(NOT TARGET tests_${label})
    add_custom_target(tests_${label})
  endif()
  add_dependencies(tests_${label} ${target})
endfunction()

# Tests wait for the compiler more than for themselves.
set(thinwire_test_options $<$<NOT:$<CONFIG:Debug>>:-O1>)

# thinwire_test(<name> LABEL <label> SOURCES ... DEPENDS ... [ARGUMENTS ...] [TIMEOUT s]):
# a GoogleTest executable, run by ctest as one test.
function(thinwire_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;DEPENDS;ARGUMENTS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(THINWIRE_SANITIZE)  # ten times as slow
    set(ARG_TIMEOUT 900)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE thinwire_flags ${ARG_DEPENDS} GTest::gmock_main)
  target_compile_options(${name} PRIVATE ${thinwire_test_options})
  thinwire_label(${name} ${ARG_LABEL})
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT}
    SKIP_REGULAR_EXPRESSION "PASSED  \\] 0 tests")
endfunction()
