// resumption.h - whether a run may go on: the same data, plugins, machine kind and settings give
// the same run, others another.
#pragma once

#include "experiment/session.h"

#include <jansson.h>

// old_run and old_config: run.json and config.resolved.json as the run left them; either may be
// NULL where it had not come so far. Each difference that changes results is named. Errors:
// BAD_OPTION with all of them, unless is_forced: then they are warnings. [main]
hox_status resumption_check(session *s, const json_t *old_run, const json_t *old_config,
                            bool is_forced, const log_sink *log, hox_error *error) HOX_MUST_CHECK;
