# hox_build: how we compile, in one place.
add_library(hox_build INTERFACE)
target_compile_features(hox_build INTERFACE c_std_17)
target_compile_definitions(hox_build INTERFACE _GNU_SOURCE)
target_compile_options(hox_build INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wvla;-Wundef;-Wformat=2;-Wstrict-prototypes;-Wmissing-prototypes>
  -fvisibility=hidden -fno-math-errno
  -ffp-contract=off) # the same bits everywhere; kernels that gain from FMA lift this themselves
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(HOX_SANITIZE)
  target_compile_options(hox_build INTERFACE
    -fsanitize=${HOX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hox_build INTERFACE -fsanitize=${HOX_SANITIZE})
endif()

# Executable and plugins lie to each other in the build tree as they do when installed.
set(HOX_BIN_DIR ${CMAKE_BINARY_DIR}/bin)
set(HOX_PLUGIN_DIR ${CMAKE_BINARY_DIR}/lib/hox/plugins)

# hox_add_plugin(fitness_accuracy accuracy.c): one shared object, <kind>_<name>.so, that sees only the SDK.
function(hox_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE hox::sdk hox_build)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${HOX_PLUGIN_DIR})
  install(TARGETS ${name} LIBRARY DESTINATION lib/hox/plugins) # where the executable looks: ../lib/hox/plugins
endfunction()

# hox_test_name(test_field.c): name and target of a test, from the path below tests/.
function(hox_test_name source)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  string(REGEX REPLACE "^(.*/)test_(.*)\\.c$" "\\1\\2" name ${path})
  string(MAKE_C_IDENTIFIER test_${name} target)
  set(name ${name} PARENT_SCOPE)
  set(target ${target} PARENT_SCOPE)
endfunction()

# hox_add_test(test_field.c [LONG] [SOURCES ...] [LIBRARIES ...]): a Criterion suite.
function(hox_add_test source)
  cmake_parse_arguments(TEST "LONG" "" "SOURCES;LIBRARIES" ${ARGN})
  hox_test_name(${source})
  add_executable(${target} ${source} ${TEST_SOURCES})
  target_link_libraries(${target} PRIVATE hox_test_support hox_core hox_build PkgConfig::CRITERION ${TEST_LIBRARIES})
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES LABELS $<IF:$<BOOL:${TEST_LONG}>,long,quick> TIMEOUT 300)
endfunction()

# hox_add_threaded_test(test_thread_pool.c): a program that fails by its exit status, for the thread sanitizer,
# under which Criterion aborts.
function(hox_add_threaded_test source)
  hox_test_name(${source})
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE hox_core hox_build)
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES LABELS "quick;threads" TIMEOUT 300)
endfunction()
