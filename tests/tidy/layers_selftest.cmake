# Does layers.cmake see? cmake -DTREE=<folder to plant in> -P layers_selftest.cmake. Plants a small tree
# with right and wrong includes, a row each, and compares the breaches named with the rows that are wrong.
cmake_minimum_required(VERSION 3.25)

# file | what it includes | ok, or the words that must be said of it
set(rows
  "core/base/error.c|<hox/status.h>|ok"
  "core/base/right.c|\"base/error.h\"|ok"
  "core/base/beside.c|\"error.h\"|ok"
  "core/config/right.c|<jansson.h>|ok"
  "core/config/below.c|\"base/error.h\"|ok"
  "core/genome/below.c|\"base/rng.h\"|ok"
  "core/plan/below.c|\"genome/genome.h\"|ok"
  "core/evaluation/below.c|\"plan/plan.h\"|ok"
  "core/evaluation/also.c|\"plugin_host/services.h\"|ok"
  "core/io/below.c|\"plan/plan.h\"|ok"
  "core/io/also.c|\"config/field.h\"|ok"
  "core/evolution/right.c|<hox/plan.h>|ok"
  "core/evolution/far.c|\"base/rng.h\"|ok"
  "core/evaluation/far.c|\"config/field.h\"|ok"
  "core/io/far.c|\"genome/genome.h\"|ok"
  "core/experiment/right.c|\"evolution/evolution.h\"|ok"
  "core/conformance/right.c|\"plugin_host/catalog.h\"|ok"
  "cli/cmd_run.c|\"experiment/experiment.h\"|ok"
  "cli/right.c|\"cli/command.h\"|ok"
  "plugins/fitness/right.c|<hox/plugin.h>|ok"
  "plugins/datasets/right.c|<zlib.h>|ok"
  "plugins/datasets/system.c|<sys/stat.h>|ok"
  "plugins/datasets/beside.c|\"idx.h\"|ok"
  "plugins/runtime_eager/right.c|\"cpu/kernel.h\"|ok"
  "plugins/runtime_graph/right.c|\"cuda/driver.h\"|ok"
  "plugins/cuda/beside.c|\"runtime/job.h\"|ok"
  "plugins/cuda/right.c|<cuda.h>|ok"
  "sdk/include/hox/right.h|<stdint.h>|ok"
  "sdk/include/hox/also.h|<hox/status.h>|ok"
  "core/base/up.c|\"config/field.h\"|base may not include config"
  "core/base/json.c|<jansson.h>|base may not include <jansson.h>"
  "core/config/aside.c|\"genome/genome.h\"|config may not include genome"
  "core/genome/up.c|\"plan/plan.h\"|genome may not include plan"
  "core/genome/json.c|<jansson.h>|genome may not include <jansson.h>"
  "core/plan/aside.c|\"evolution/species.h\"|plan may not include evolution"
  "core/plan/json.h|<jansson.h>|plan may not include <jansson.h>"
  "core/plan/angle.c|<evolution/species.h>|plan may not include evolution"
  "core/evolution/aside.c|\"plan/plan.h\"|evolution may not include plan"
  "core/evolution/settings.c|\"config/field.h\"|evolution may not include config"
  "core/evolution/plugin.c|<hox/plugin.h>|evolution may not include <hox/plugin.h>"
  "core/evolution/runtime.h|<hox/runtime.h>|evolution may not include <hox/runtime.h>"
  "core/evolution/json.c|  #  include <jansson.h>|evolution may not include <jansson.h>"
  "core/evolution/file.c|\"base/file.h\"|evolution may not include \"base/file.h\""
  "core/evolution/files.c|<fcntl.h>|evolution may not include <fcntl.h>"
  "core/plugin_host/aside.c|\"plan/plan.h\"|plugin_host may not include plan"
  "core/evaluation/aside.c|\"io/jsonl.h\"|evaluation may not include io"
  "core/evaluation/cuda.c|<cuda_runtime.h>|evaluation may not include <cuda_runtime.h>"
  "core/evaluation/cudnn.c|<cudnn.h>|evaluation may not include <cudnn.h>"
  "core/evaluation/plugin.c|\"cpu/kernel.h\"|evaluation may not include cpu"
  "core/io/aside.c|\"evaluation/metrics.h\"|io may not include evaluation"
  "core/experiment/up.c|\"cli/command.h\"|experiment may not include cli"
  "core/experiment/climbs.c|\"../base/error.h\"|climbs out of its folder"
  "core/invented/new.c|<stdio.h>|invented is not in the table of layers"
  "cli/cuda.c|<cuda.h>|cli may not include <cuda.h>"
  "cli/plugin.c|\"fitness/accuracy.h\"|cli may not include fitness"
  "plugins/fitness/core.c|\"base/error.h\"|a plugin may not include base"
  "plugins/fitness/angle.c|<base/error.h>|a plugin may not include base"
  "plugins/fitness/cpu.c|\"cpu/kernel.h\"|a plugin may not include cpu"
  "plugins/runtime_eager/aside.c|\"runtime_graph/arena.h\"|a plugin may not include runtime_graph"
  "plugins/cpu/cuda.c|\"cuda/driver.h\"|a plugin may not include cuda"
  "plugins/runtime_fused/kernel.cu|\"../cuda/kernel.cuh\"|climbs out of its folder"
  "sdk/include/hox/library.h|<jansson.h>|the SDK may not include <jansson.h>"
  "sdk/include/hox/system.h|<unistd.h>|the SDK may not include <unistd.h>"
  "sdk/include/hox/quoted.h|\"status.h\"|the SDK may not include \"status.h\"")

file(REMOVE_RECURSE ${TREE})
set(wrong 0)
foreach(row ${rows})
  string(REGEX MATCH "^([^|]+)\\|([^|]+)\\|(.*)$" match "${row}")
  set(file ${CMAKE_MATCH_1})
  set(line "${CMAKE_MATCH_2}")
  if(NOT CMAKE_MATCH_3 STREQUAL "ok")
    math(EXPR wrong "${wrong} + 1")
  endif()
  if(NOT line MATCHES "#")
    set(line "#include ${line}")
  endif()
  file(WRITE ${TREE}/${file} "// planted\n${line} // a; b [c\n#include <stddef.h>\n")
endforeach()

execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/layers.cmake
                RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
foreach(row ${rows})
  string(REGEX MATCH "^([^|]+)\\|([^|]+)\\|(.*)$" match "${row}")
  set(file ${CMAKE_MATCH_1})
  set(words "${CMAKE_MATCH_3}")
  string(FIND "${said}" "${file}: " named)
  string(FIND "${said}" "${words}" found)
  if(words STREQUAL "ok" AND NOT named EQUAL -1)
    message(SEND_ERROR "${file} is right, yet it was named")
  elseif(NOT words STREQUAL "ok" AND (named EQUAL -1 OR found EQUAL -1))
    message(SEND_ERROR "not seen: ${file}, ${words}")
  endif()
endforeach()
if(result EQUAL 0 OR NOT said MATCHES "${wrong} includes break the table")
  message(SEND_ERROR "${wrong} breaches were planted; result ${result}, and it said:\n${said}")
endif()

# Without the wrong files the same tree passes; without any file it does not.
foreach(row ${rows})
  string(REGEX MATCH "^([^|]+)\\|([^|]+)\\|(.*)$" match "${row}")
  if(NOT CMAKE_MATCH_3 STREQUAL "ok")
    file(REMOVE ${TREE}/${CMAKE_MATCH_1})
  endif()
endforeach()
foreach(root ${TREE} ${TREE}/nothing)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${root} -P ${CMAKE_CURRENT_LIST_DIR}/layers.cmake
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(root STREQUAL "${TREE}" AND NOT result EQUAL 0)
    message(SEND_ERROR "a right tree was refused")
  elseif(NOT root STREQUAL "${TREE}" AND result EQUAL 0)
    message(SEND_ERROR "an empty tree passed")
  endif()
endforeach()
