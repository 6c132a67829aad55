#include "help.h"

#include "experiment/experiment_config.h"

#include <stdlib.h>
#include <string.h>

static void print_option(FILE *to, const option *o) {
    char letter[8] = "    ", name[48];
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(name, sizeof name, "--%s%s%s", o->name, o->argument ? "=" : "",
             o->argument ? o->argument : "");
    fprintf(to, "  %s%-22s  %s\n", letter, name, o->help);
}

int help_all(FILE *to) {
    fputs("Usage: hox COMMAND [OPTION]... [WORD]...\n"
          "Evolve convolutional neural networks.\n\nCommands:\n",
          to);
    for (const command *c = commands; c->name; c++) {
        char usage[48];
        snprintf(usage, sizeof usage, "%s %s", c->name, c->words);
        fprintf(to, "  %-26s  %s\n", usage, c->summary);
    }
    fputs("\nOptions of every command:\n", to);
    for (const option *o = common_options; o->name; o++)
        print_option(to, o);
    fputs("      --version               show the version and end\n\n"
          "'hox COMMAND --help' lists the options of a command. Exit status: 0 well, 1 the run\n"
          "failed, 2 usage, 3 configuration or data, 4 plugin, 5 device or memory, 130 and 143\n"
          "stopped by a signal with everything written.\n",
          to);
    return to == stdout ? EXIT_OK : EXIT_USAGE;
}

// key, default and meaning of each setting that belongs to hox itself.
static void print_settings(void) {
    for (size_t i = 0; i < settings_object_count; i++) {
        const settings_object *o = &settings_objects[i];
        for (uint32_t k = 0; o->rows && k < *o->row_count; k++) {
            json_t *value = field_default(&o->rows[k]);
            char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
            printf("  %s%s = %s\n      %s\n", setting_section(o).text, o->rows[k].name,
                   text ? text : "?", o->rows[k].help);
            free(text);
            json_decref(value);
        }
    }
}

int help_command(const command *c) {
    char summary[128];
    snprintf(summary, sizeof summary, "%s", c->summary);
    if (*summary >= 'a' && *summary <= 'z') *summary = (char)(*summary - 'a' + 'A');
    printf("Usage: hox %s [OPTION]...%s%s\n%s.\n\nOptions:\n", c->name, *c->words ? " " : "",
           c->words, summary);
    for (size_t i = 0; command_option(c, i); i++)
        print_option(stdout, command_option(c, i));
    if (strcmp(c->name, "run") != 0) return EXIT_OK;
    puts("\nSettings of an experiment, with their defaults ('hox plugins info NAME' lists a\n"
         "plugin's own):");
    print_settings();
    return EXIT_OK;
}
