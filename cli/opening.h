// opening.h - finds what GENOME|RUN on a command line means.
#pragma once

#include "command.h"

#include "genome/genome.h"

#include <hox/dataset.h>
#include <limits.h>

typedef struct opening {
    char genome_path[PATH_MAX];     // the genome file
    char experiment_path[PATH_MAX]; // config.resolved.json of the run it belongs to; "" = of none
    char run_path[PATH_MAX];        // the run's folder; "" likewise
    genome *genome;
} opening;

// A folder is a run: its champion. A file is a genome; in the champion folder of a run it belongs
// to that run. Topologies without weights draw them from seed 0. Returns EXIT_OK, or the exit code:
// one line said what is wrong.
int opening_open(opening *o, const char *word, terminal *t);
void opening_close(opening *o);

// The experiment: that of the line's --experiment, else of the run the genome lies in. EXIT_USAGE
// and one line where there is neither.
int opening_find_experiment(const opening *o, const command_line *line, terminal *t,
                            const char **path);
// Whether the genome takes images of this size; a line says what is wrong.
int opening_check_size(const opening *o, const hox_dataset_info *info, terminal *t);
