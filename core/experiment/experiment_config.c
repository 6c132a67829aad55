#include "experiment/experiment_config.h"

#include <string.h>
#include <sys/random.h>

static const hox_field head_fields[] = {
    HOX_TEXT(experiment_head, name, "run", "begins the name of the run's folder"),
    HOX_SEED(experiment_head, seed, "of all random choices; drawn where the file does not say it"),
};
static const hox_field dataset_fields[] = {
    HOX_TEXT(plugin_choice, plugin, "idx", "dataset plugin, by name or by the path of its file"),
};
static const hox_field fitness_fields[] = {
    HOX_TEXT(plugin_choice, plugin, "balanced_accuracy",
             "fitness plugin, by name or by the path of its file"),
};
static const hox_field task_fields[] = {
    HOX_LABEL(task_config, positive_class, "1", "class to recognise, by name or number"),
    HOX_LABEL(task_config, negative_class, NULL,
              "class to tell it from, by name or number; null = all others"),
    HOX_REALS(task_config, split_fractions, "[0.5, 0.35, 0.15]", 0.0, 1.0,
              "shares of the train split for refine, select and monitor; a fourth for test where "
              "the dataset has no test split"),
    HOX_REAL(task_config, decision_threshold, 0.0, -1e30, 1e30,
             "an image is positive where its logit is at least this"),
    HOX_INT(task_config, max_images, 0, 0, INT64_MAX,
            "most images of each part, every class in its share; 0 = all"),
};
static const hox_field stop_fields[] = {
    HOX_INT(stop_config, max_generations, 100, 1, 1000000000, "generations to evaluate"),
    HOX_INT(stop_config, max_evaluations, 0, 0, INT64_MAX,
            "ends after the generation in which so many genomes have been evaluated; 0 = no limit"),
    HOX_INT(stop_config, patience, 0, 0, 1000000000,
            "ends after so many generations without a better fitness on select; 0 = no limit"),
    HOX_REAL(stop_config, target_fitness, 1e300, -1e300, 1e300,
             "ends after the generation whose champion reaches this on select"),
    HOX_REAL(stop_config, max_wall_seconds, 0.0, 0.0, 1e9,
             "ends after the generation in which this passes; 0 = no limit"),
};
static const hox_field run_fields[] = {
    HOX_TEXT(run_config, out, "runs", "folder that gets a new folder for each run"),
    HOX_INT(run_config, checkpoint_every, 1, 0, 1000000000,
            "generations between checkpoints; 0 = only where the run ends"),
    HOX_REAL(run_config, checkpoint_minutes, 0.0, 0.0, 1e6,
             "minutes after which a checkpoint is due all the same; 0 = never"),
};

#define COUNT(rows) static const uint32_t rows##_count = sizeof(rows) / sizeof *(rows)
COUNT(head_fields);
COUNT(dataset_fields);
COUNT(fitness_fields);
COUNT(task_fields);
COUNT(stop_fields);
COUNT(run_fields);

#define OBJECT(pointer, rows, count, member, kind)                                                 \
    { pointer, rows, count, offsetof(experiment_config, member), kind }
const settings_object settings_objects[] = {
    OBJECT("", head_fields, &head_fields_count, head, 0),
    OBJECT("/dataset", dataset_fields, &dataset_fields_count, dataset_choice, HOX_KIND_DATASET),
    OBJECT("/task", task_fields, &task_fields_count, task, 0),
    OBJECT("/fitness", fitness_fields, &fitness_fields_count, fitness_choice, HOX_KIND_FITNESS),
    OBJECT("/evaluation", evaluation_fields, &evaluation_field_count, evaluation, 0),
    {"/runtime", NULL, NULL, 0, HOX_KIND_RUNTIME},
    OBJECT("/genome", genome_fields, &genome_field_count, genome, 0),
    OBJECT("/evolution", evolution_fields, &evolution_field_count, evolution, 0),
    OBJECT("/evolution/mutation", mutation_fields, &mutation_field_count, evolution.mutation, 0),
    OBJECT("/evolution/species", species_fields, &species_field_count, evolution.species, 0),
    OBJECT("/evolution/distance", distance_fields, &distance_field_count, evolution.distance, 0),
    OBJECT("/refinement", refinement_fields, &refinement_field_count, refinement, 0),
    OBJECT("/stop", stop_fields, &stop_fields_count, stop, 0),
    OBJECT("/run", run_fields, &run_fields_count, run, 0),
};
const size_t settings_object_count = sizeof settings_objects / sizeof *settings_objects;

setting_text setting_section(const settings_object *o) {
    setting_text t = {""};
    if (!*o->pointer) return t;
    snprintf(t.text, sizeof t.text, "%s.", o->pointer + 1);
    for (char *slash; (slash = strchr(t.text, '/'));)
        *slash = '.';
    return t;
}

enum { MOST_SECTIONS = 2 * sizeof settings_objects / sizeof *settings_objects };

static const instance *plugin_of(const experiment_config *c, uint32_t kind) {
    return kind == HOX_KIND_DATASET   ? &c->dataset
           : kind == HOX_KIND_FITNESS ? &c->fitness
                                      : &c->runtime;
}

static field_section plugin_section(const char *pointer, const instance *i) {
    field_section section = {.pointer = pointer, .accepts_all = i->plugin == NULL};
    if (i->plugin && i->plugin->field_count > 0) {
        section.table =
            (field_table){i->plugin->fields, i->plugin->field_count, i->plugin->field_size};
        section.target = i->options;
    }
    return section;
}

// Returns their number.
static size_t list_sections(experiment_config *c, field_section sections[MOST_SECTIONS]) {
    size_t count = 0;
    for (size_t i = 0; i < settings_object_count; i++) {
        const settings_object *o = &settings_objects[i];
        if (o->rows)
            sections[count++] = (field_section){.pointer = o->pointer,
                                                .table = FIELD_TABLE(o->rows, *o->row_count),
                                                .target = (char *)c + o->offset};
        if (o->plugin_kind)
            sections[count++] = plugin_section(o->pointer, plugin_of(c, o->plugin_kind));
    }
    return count;
}

// ---- plugins ----

// The name a section gives, or the default.
static const char *name_at(const json_t *root, const char *section, const char *key,
                           const char *fallback) {
    const char *name = json_string_value(json_object_get(json_object_get(root, section), key));
    return name ? name : fallback;
}

static hox_status open_one(instance *i, uint32_t kind, const char *name, const char *pointer,
                           const document *d, catalog *plugins, const log_sink *log,
                           problem_list *problems) {
    const hox_plugin *plugin;
    const char *path;
    hox_error why = HOX_ERROR_INIT;
    hox_status status = catalog_open(plugins, kind, name, document_folder_of(d, pointer), log,
                                     &plugin, &path, &why);
    if (status == HOX_OK) status = instance_init(i, plugin, path, log, &why);
    if (status != HOX_OK) problem_add(problems, pointer, "%s", why.message);
    if (status == HOX_OK) log_line(log, HOX_LOG_DEBUG, "plugin %s from %s", plugin->name, path);
    return status;
}

// Names that users of the older system know.
static const char *runtime_of_alias(const char *name) {
    static const char *const aliases[][2] = {{"cuda_graph", "graph"}, {"compile", "fused"}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(name, aliases[i][0]) == 0) return aliases[i][1];
    return name;
}

// All three, even where one fails; the first failure counts.
static hox_status open_plugins(experiment_config *c, const document *d, catalog *plugins,
                               const log_sink *log, problem_list *problems) {
    const struct {
        instance *instance;
        uint32_t kind;
        const char *name, *pointer;
    } wanted[] = {
        {&c->dataset, HOX_KIND_DATASET,
         name_at(d->root, "dataset", "plugin", dataset_fields[0].default_text), "/dataset/plugin"},
        {&c->fitness, HOX_KIND_FITNESS,
         name_at(d->root, "fitness", "plugin", fitness_fields[0].default_text), "/fitness/plugin"},
        {&c->runtime, HOX_KIND_RUNTIME,
         runtime_of_alias(
             name_at(d->root, "evaluation", "forward_runtime", evaluation_fields[0].default_text)),
         "/evaluation/forward_runtime"}};
    hox_status first = HOX_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const hox_status status = open_one(wanted[i].instance, wanted[i].kind, wanted[i].name,
                                           wanted[i].pointer, d, plugins, log, problems);
        if (first == HOX_OK) first = status;
    }
    return first;
}

// ---- what single rows cannot say ----

static void check_fractions(const hox_real_list *fractions, problem_list *problems) {
    const char *pointer = "/task/split_fractions";
    double sum = 0.0;
    for (int64_t i = 0; i < fractions->count; i++)
        sum += fractions->values[i];
    if (fractions->count != 3 && fractions->count != 4)
        problem_add(problems, pointer,
                    "%d numbers; expected refine, select, monitor and, without a test split, test",
                    (int)fractions->count);
    else if (sum > 1.0 + 1e-9)
        problem_add(problems, pointer, "the sum %g is above 1", sum);
    else if (fractions->values[1] <= 0.0 || fractions->values[2] <= 0.0)
        problem_add(problems, pointer, "select and monitor must have images");
}

static void check_rates(const mutation_config *m, problem_list *problems) {
    const double sum = m->add_edge + m->add_node + m->remove_edge + m->remove_node +
                       m->toggle_edge + m->resize_node + m->channels + m->activation;
    if (sum > 1.0 + 1e-9)
        problem_add(problems, "/evolution/mutation",
                    "the chances of the changes of structure sum to %g, above 1", sum);
}

static void check_batch(const evaluation_config *c, const log_sink *log) {
    if (c->eval_batch_size_min > c->eval_batch_size)
        log_line(log, HOX_LOG_WARNING,
                 "evaluation.eval_batch_size_min %lld is above eval_batch_size %lld: batches are "
                 "of %lld",
                 (long long)c->eval_batch_size_min, (long long)c->eval_batch_size,
                 (long long)c->eval_batch_size);
}

static hox_status check_whole(const experiment_config *c, const log_sink *log,
                              problem_list *problems) {
    check_batch(&c->evaluation, log);

    check_fractions(&c->task.split_fractions, problems);
    check_rates(&c->evolution.mutation, problems);
    if (c->evolution.species.threshold_least > c->evolution.species.threshold_most)
        problem_add(problems, "/evolution/species/threshold_least", "%g is above threshold_most %g",
                    c->evolution.species.threshold_least, c->evolution.species.threshold_most);
    if (c->genome.output_size.count != 3)
        problem_add(problems, "/genome/output_size", "expected channels, height and width");
    if (c->genome.allowed_channels.count == 0)
        problem_add(problems, "/genome/allowed_channels", "expected at least one number");
    if (strchr(c->head.name, '/') || c->head.name[0] == '.' || !*c->head.name)
        problem_add(problems, "/name", "\"%s\" cannot begin the name of a folder", c->head.name);
    if (!c->task.positive_class) problem_add(problems, "/task/positive_class", "expected a class");
    return problems->count == 0 ? HOX_OK : HOX_BAD_OPTION;
}

// ---- all of it ----

static hox_status draw_seed(const document *d, uint64_t *seed, hox_error *error) {
    if (json_object_get(d->root, "seed")) return HOX_OK;
    uint32_t drawn; // few digits: JSON readers that know only doubles keep them
    if (getrandom(&drawn, sizeof drawn, 0) == sizeof drawn) {
        *seed = drawn;
        return HOX_OK;
    }
    return hox_error_set(error, HOX_INTERNAL, "no seed could be drawn; give one: --set seed=1");
}

// A plugin that was named by a path keeps its name wherever the resolved configuration lies.
static void name_plugins_by_path(experiment_config *c) {
    const struct {
        const char **name;
        const instance *instance;
    } named[] = {{&c->dataset_choice.plugin, &c->dataset},
                 {&c->fitness_choice.plugin, &c->fitness},
                 {&c->evaluation.forward_runtime, &c->runtime}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strchr(*named[i].name, '/')) *named[i].name = named[i].instance->path;
}

static const char *folder_of(const void *context, const char *pointer) {
    return document_folder_of(context, pointer);
}

static hox_status load(experiment_config *c, const document *d, catalog *plugins,
                       const log_sink *log, problem_list *problems, hox_error *error) {
    const field_reader reader = {&c->memory, folder_of, d, problems};
    field_section sections[MOST_SECTIONS];
    const hox_status opened = open_plugins(c, d, plugins, log, problems);
    const size_t count = list_sections(c, sections);
    HOX_TRY(field_set_defaults(sections, count, &reader, error));
    hox_status status = field_read(d->root, sections, count, &reader, NULL);
    if (status == HOX_OK) status = check_whole(c, log, problems);
    if (opened != HOX_OK) status = opened;
    if (status == HOX_OK) name_plugins_by_path(c);
    if (status == HOX_OK) return draw_seed(d, &c->head.seed, error);
    return hox_error_set(error, status, "%zu wrong settings", problems->count);
}

hox_status experiment_config_load(experiment_config *c, const document *d, catalog *plugins,
                                  const log_sink *log, problem_list *problems, hox_error *error) {
    *c = (experiment_config){0};
    const hox_status status = load(c, d, plugins, log, problems, error);
    if (status != HOX_OK) experiment_config_deinit(c);
    return status;
}

void experiment_config_make_small(experiment_config *c) {
    const struct {
        int64_t *setting, most;
    } limits[] = {{&c->stop.max_generations, 2}, {&c->evolution.population_size, 8}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (*limits[i].setting > limits[i].most) *limits[i].setting = limits[i].most;
    if (c->task.max_images == 0 || c->task.max_images > 64) c->task.max_images = 64;
}

void experiment_config_deinit(experiment_config *c) {
    instance_deinit(&c->dataset);
    instance_deinit(&c->fitness);
    instance_deinit(&c->runtime);
    arena_deinit(&c->memory);
    *c = (experiment_config){0};
}

json_t *experiment_config_print(experiment_config *c, hox_error *error) {
    field_section sections[MOST_SECTIONS];
    return field_print(sections, list_sections(c, sections), error);
}
