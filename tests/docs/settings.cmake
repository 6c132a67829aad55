# settings.cmake - the committed page of settings is what the program prints.
execute_process(COMMAND ${CMAKE_COMMAND} -E env HOX_PLUGIN_PATH= XDG_DATA_HOME=/nonexistent ${HOX} schema --markdown
                OUTPUT_VARIABLE printed RESULT_VARIABLE code)
file(READ ${PAGE} committed)
if(NOT code EQUAL 0 OR NOT printed STREQUAL committed)
  message(FATAL_ERROR "docs/settings.md is old; make it anew: hox schema --markdown > docs/settings.md")
endif()
