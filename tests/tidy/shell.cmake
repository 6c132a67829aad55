# Are the scripts clean? cmake -DROOT=<repository> -P shell.cmake.
cmake_minimum_required(VERSION 3.25)

set(scripts quickstart check .ci/run cmake/setup.sh plugins/cuda/build_kernels.sh tests/gpu/run.sh)
find_program(checker shellcheck)
if(NOT checker)
  message(NOTICE "skipped: shellcheck is not installed")
  return()
endif()
execute_process(COMMAND ${checker} --external-sources ${scripts} WORKING_DIRECTORY ${ROOT}
                COMMAND_ERROR_IS_FATAL ANY)
