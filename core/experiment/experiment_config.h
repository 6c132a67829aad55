// experiment_config.h - a whole experiment as the user wrote it: every module's settings and the
// plugins.
#pragma once

#include "config/document.h"
#include "config/field.h"
#include "evaluation/evaluation_config.h"
#include "evaluation/refinement_config.h"
#include "evolution/evolution_config.h"
#include "plugin_host/catalog.h"
#include "plugin_host/instance.h"

typedef struct task_config {
    const char *positive_class, *negative_class; // name or number; negative NULL = all others
    hox_real_list split_fractions; // refine, select, monitor and, without a test split, test
    double decision_threshold;     // on logits
    int64_t max_images;            // in each part; 0 = all
} task_config;

typedef struct stop_config {
    int64_t max_generations;
    int64_t max_evaluations; // genomes; 0 = no limit
    int64_t patience;        // generations without a better fitness on select; 0 = no limit
    double target_fitness;   // on select
    double max_wall_seconds; // 0 = no limit
} stop_config;

typedef struct run_config {
    const char *out;           // folder that gets a new folder for each run
    int64_t checkpoint_every;  // generations; 0 = only at the end
    double checkpoint_minutes; // also after so many; 0 = not
} run_config;

typedef struct plugin_choice {
    const char *plugin; // name, or path of the file
} plugin_choice;

typedef struct experiment_head {
    const char *name;
    uint64_t seed;
} experiment_head;

typedef struct experiment_config {
    experiment_head head;
    plugin_choice dataset_choice, fitness_choice;
    task_config task;
    evaluation_config evaluation;
    genome_config genome;
    evolution_config evolution;
    refinement_config refinement;
    stop_config stop;
    run_config run;
    instance dataset, fitness, runtime; // opened files with their options filled
    arena memory;                       // texts of all of it
} experiment_config;

// One object of the experiment file: the fields it has of its own, and the kind of plugin whose
// options stand beside them.
typedef struct settings_object {
    const char *pointer;   // "" for the root, "/evolution/mutation"
    const hox_field *rows; // NULL = none
    const uint32_t *row_count;
    size_t offset;        // of the struct the rows fill, in experiment_config
    uint32_t plugin_kind; // HOX_KIND_*, 0 = none
} settings_object;

// "evolution.mutation." of an object: what stands before a setting's name on the command line; ""
// for the root.
typedef struct setting_text {
    char text[64];
} setting_text;
setting_text setting_section(const settings_object *o);

extern const settings_object settings_objects[]; // in the order they are printed
extern const size_t settings_object_count;

// Reads d, opens the three plugins it names and fills their options. A missing seed is drawn. log
// is borrowed by the instances, and c must stay where it is. Each wrong place goes to
// problems. Errors: BAD_OPTION, NOT_FOUND and VERSION (a plugin), OUT_OF_HOST_MEMORY. [main]
hox_status experiment_config_load(experiment_config *c, const document *d, catalog *plugins,
                                  const log_sink *log, problem_list *problems,
                                  hox_error *error) HOX_MUST_CHECK;
// Two generations of few genomes on few images: enough to touch everything.
void experiment_config_make_small(experiment_config *c);

void experiment_config_deinit(experiment_config *c); // {0} too

// All settings, defaults included: running this gives the same run. The caller owns the reference.
json_t *experiment_config_print(experiment_config *c, hox_error *error);
