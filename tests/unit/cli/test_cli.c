// test_cli.c - the command line from outside: exit codes, one line for what is wrong, results on
// stdout and all else on stderr.
#include "child.h"
#include "doubles.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <unistd.h>

static child self;

static void setup(void) {
    child_init(&self);
}

static void teardown(void) {
    child_deinit(&self);
}

TestSuite(cli, .init = setup, .fini = teardown);

static const char small[] =
    "{\"name\": \"mine\", \"seed\": 5, \"dataset\": {\"plugin\": \"synthetic\", \"train_count\": "
    "80, \"test_count\": 20, \"size\": 8}, \"task\": {\"positive_class\": 0},\n"
    " \"evolution\": {\"population_size\": 4}, \"stop\": {\"max_generations\": 3}}";

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

// ---- usage ----

static const struct {
    const char *words[5];
    int code;
    const char *fragment; // of stdout where code is 0, else of stderr
} rows[] = {
    {{"--help"}, 0, "run FILE"},
    {{"-h"}, 0, "run FILE"},
    {{"--version"}, 0, "hox 0.1.0"},
    {{"run", "--help"}, 0, "--plugin-path"},
    {{"plugins", "list", "--help"}, 0, "--plugin-path"},
    {{"doctor"}, 0, "runtime eager: cpu ("},
    {{"plugins", "info", "eager"}, 0, "devices: cpu ("},
    {{"plugins", "info", "eager", "--json"}, 0, "\"devices\": ["},
    {{"rnu", "file"}, 2, "there is no command \"rnu\"; did you mean \"run\"?"},
    {{"frobnicate"}, 2, "there is no command \"frobnicate\""},
    {{"run"}, 2, "hox run"},
    {{"run", "one", "two"}, 2, "hox run"},
    {{"resume", "--help"}, 0, "--force"},
    {{"train", "--help"}, 0, "--experiment"},
    {{"train"}, 2, "hox train"},
    {{"train", "nothere.json"}, 3, "nothere.json"},
    {{"resume"}, 2, "hox resume"},
    {{"resume", "nothere"}, 3, "nothere: there is no run to go on with"},
    {{"run", "--ste=a=1", "file"}, 2, "did you mean --set?"},
    {{"run", "--frobnicate", "file"}, 2, "--frobnicate"},
    {{"run", "-z", "file"}, 2, "-z"},
    {{"run", "file", "--out"}, 2, "--out"},
    {{"run", "file", "--out=a", "--out=b"}, 2, "--out"},
    {{"plugins", "lst"}, 2, "lst"},
    {{"run", "nothere.json"}, 3, "nothere.json: cannot open: No such file or directory"},
    {{"run", "."}, 3, "not a regular file"},
    {{"run", "--", "--set"}, 3, "--set: cannot open"},
};

Test(cli, answers_wrong_words_with_one_line) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *words[6] = {NULL};
        memcpy(words, rows[i].words, sizeof rows[i].words);
        child_run(&self, words);
        const char *said = rows[i].code ? self.err : self.out;
        cr_expect_eq(self.code, rows[i].code, "row %zu: %d, %s", i, self.code, self.err);
        cr_expect(strstr(said, rows[i].fragment), "row %zu: no \"%s\" in %s", i, rows[i].fragment,
                  said);
        cr_expect_str_empty(rows[i].code ? self.out : self.err, "row %zu", i);
        if (rows[i].code) cr_expect_eq(line_count(self.err), 1, "row %zu: %s", i, self.err);
    }
    child_run(&self, (const char *const[]){NULL});
    cr_expect_eq(self.code, 2);
    cr_expect(strstr(self.err, "run FILE"), "%s", self.err);
    cr_expect_str_empty(self.out);
}

// ---- wrong experiments: tests/golden/wrong_inputs.json has the rest ----

Test(cli, names_the_set_that_is_wrong) {
    static const struct {
        const char *set, *fragment;
    } wrong[] = {
        {"evolution.population_sise=5", "--set evolution.population_sise=5: there is no such "
                                        "setting; did you mean \"population_size\"?"},
        {"stop.max_generations=many", "--set stop.max_generations=many: "},
        {"task.positive_class=7", "--set task.positive_class=7: there is no class \"7\""},
        {"seed", "--set seed: expected key=value"},
        {"=5", "--set =5: expected key=value"},
    };
    child_write(&self, "file.json", small);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        child_run(&self, WORDS("run", "file.json", "--set", wrong[i].set));
        cr_expect_eq(self.code, 3, "%s", wrong[i].set);
        cr_expect(strstr(self.err, wrong[i].fragment), "%s: %s", wrong[i].set, self.err);
        cr_expect_eq(line_count(self.err), 1, "%s", self.err);
    }
}

// ---- a run ----

static size_t lines_with(const char *text, const char *start) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, start)); at++)
        count += at == text || at[-1] == '\n';
    return count;
}

static char *run_folder(void) {
    const char *at = strstr(self.out, "run folder: ");
    cr_assert_not_null(at, "%s", self.out);
    at += strlen("run folder: ");
    return strndup(at, strcspn(at, "\n"));
}

Test(cli, prints_results_on_stdout_and_a_line_a_generation_on_stderr) {
    child_write(&self, "file.json", small);
    child_run(&self, WORDS("run", "file.json"));
    cr_assert_eq(self.code, 0, "%s", self.err);
    cr_expect_eq(lines_with(self.err, "generation "), 3, "%s", self.err);
    cr_expect(strstr(self.err, "device cpu"), "%s", self.err);
    cr_expect_null(strstr(self.out, "generation 1/3"), "%s", self.out);
    cr_expect(strstr(self.out, "champion: genome "), "%s", self.out);
    cr_expect(strstr(self.out, "  test "), "%s", self.out);
    cr_expect_null(strchr(self.out, 033), "no terminal, no colour");
    cr_expect_null(strchr(self.err, 033), "no terminal, no colour");
    cr_expect_null(strchr(self.err, '\r'));
    char *folder = run_folder(), name[512];
    cr_expect_eq(strncmp(folder, "runs/mine-", strlen("runs/mine-")), 0, "%s", folder);
    snprintf(name, sizeof name, "%s/metrics.jsonl", folder);
    char *metrics = child_read(&self, name);
    cr_expect_eq(line_count(metrics), 3);
    free(metrics);

    // as the last line says
    snprintf(name, sizeof name, "%s/config.resolved.json", folder);
    child_run(&self, WORDS("run", name, "--out", "again", "--set", "stop.max_generations=1"));
    cr_expect_eq(self.code, 0, "%s", self.err);
    metrics = child_read(&self, "again/metrics.jsonl");
    cr_expect_eq(line_count(metrics), 1);
    free(metrics);
    free(folder);
}

Test(cli, goes_on_with_a_run_and_makes_it_longer) {
    child_write(&self, "file.json", small);
    child_run(&self, WORDS("run", "file.json", "--out", "out"));
    cr_assert_eq(self.code, 0, "%s", self.err);
    cr_expect(strstr(self.out, "to go on: hox resume out --set stop.max_generations=6"), "%s",
              self.out);
    child_run(&self, WORDS("resume", "out"));
    cr_expect_eq(self.code, 0, "%s", self.err);
    cr_expect(strstr(self.out, "this run had ended: nothing was left to do"), "%s", self.out);
    cr_expect(strstr(self.out, "3 generations of 4 genomes"), "%s", self.out);

    // as the last line says
    child_run(&self, WORDS("resume", "out", "--set", "stop.max_generations=6"));
    cr_expect_eq(self.code, 0, "%s", self.err);
    cr_expect(strstr(self.err, "it will be measured again"), "%s", self.err);
    cr_expect(strstr(self.out, "6 generations of 4 genomes"), "%s", self.out);
    cr_expect_eq(lines_with(self.err, "generation "), 3, "%s", self.err);
    char *metrics = child_read(&self, "out/metrics.jsonl");
    cr_expect_eq(line_count(metrics), 6);
    free(metrics);

    child_run(&self, WORDS("resume", "out", "--set", "evolution.survival=0.5"));
    cr_expect_eq(self.code, 3, "%s", self.err);
    cr_expect(strstr(self.err, "evolution/survival changed"), "%s", self.err);
    cr_expect_eq(line_count(self.err), 1, "%s", self.err);
}

Test(cli, needs_an_out_folder_of_its_own) {
    child_write(&self, "file.json", small);
    child_run(&self, WORDS("run", "file.json", "--out", ".", "--set", "stop.max_generations=1"));
    cr_expect_eq(self.code, 3, "%s", self.err);
    cr_expect(strstr(self.err, "holds something already"), "%s", self.err);
    cr_expect_eq(line_count(self.err), 1, "%s", self.err);
    char *text = child_read(&self, "file.json");
    cr_expect_str_eq(text, small);
    free(text);
}

Test(cli, exits_with_5_when_the_data_does_not_fit) {
    child_write(&self, "file.json", small);
    child_run(&self, WORDS("run", "file.json", "--set", "evaluation.gpu_vram_cap_bytes=1000"));
    cr_expect_eq(self.code, 5, "%s", self.err);
    cr_expect(strstr(self.err, "does not fit on cpu"), "%s", self.err);
    cr_expect_str_empty(self.out);
}

// ---- training ----

Test(cli, trains_a_genome_and_overwrites_nothing) {
    child_write(&self, "file.json", small);
    child_run(&self, WORDS("run", "file.json", "--out", "out"));
    cr_assert_eq(self.code, 0, "%s", self.err);
    child_run(&self, WORDS("train", "out", "--out", "new.json", "--set",
                           "refinement.elite_refinement_epochs=3"));
    cr_assert_eq(self.code, 0, "%s", self.err);
    cr_expect_eq(lines_with(self.err, "epoch "), 3, "%s", self.err);
    cr_expect(strstr(self.out, "3 epochs of 40 images"), "%s", self.out);
    cr_expect_eq(lines_with(self.out, "  select "), 1, "%s", self.out);
    cr_expect_eq(lines_with(self.out, "  monitor "), 1, "%s", self.out);
    char *trained = child_read(&self, "new.json");

    child_run(&self, WORDS("train", "out", "--out", "new.json"));
    cr_expect_eq(self.code, 2, "%s", self.err);
    cr_expect(strstr(self.err, "new.json: is there already"), "%s", self.err);
    cr_expect_eq(line_count(self.err), 1, "%s", self.err);
    char *still = child_read(&self, "new.json");
    cr_expect_str_eq(still, trained);
    free(still);
    free(trained);

    child_run(&self, WORDS("train", "new.json", "--out", "newer.json"));
    cr_expect_eq(self.code, 2, "%s", self.err);
    cr_expect(strstr(self.err, "name its experiment with --experiment FILE"), "%s", self.err);
    child_run(&self, WORDS("train", "new.json", "--experiment", "file.json", "--json", "--quiet"));
    cr_expect_eq(self.code, 0, "%s", self.err);
    json_t *json = json_loads(self.out, 0, NULL);
    cr_expect_eq(json_array_size(json_object_get(json, "loss")), 2, "%s", self.out);
    char *path = temp_path(&self.folder, json_string_value(json_object_get(json, "file")));
    cr_expect_eq(access(path, R_OK), 0, "%s", path);
    free(path);
    json_decref(json);
}

Test(cli, refuses_to_train_with_what_cannot) {
    static const struct {
        const char *set, *fragment;
    } wrong[] = {
        {"task.split_fractions=[0,0.5,0.5]", "no image is left for refine"},
        {"dataset.size=9", "the genome takes images of 3 x 8 x 8, the dataset has 3 x 9 x 9"},
        {"refinement.elite_refinement_optimizer=adamw", "did you mean \"adam\"?"},
    };
    child_write(&self, "file.json", small);
    child_run(&self, WORDS("run", "file.json", "--out", "out"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        child_run(&self, WORDS("train", "out", "--out", "new.json", "--set", wrong[i].set));
        cr_expect_eq(self.code, 3, "%s", wrong[i].set);
        cr_expect(strstr(self.err, wrong[i].fragment), "%s: %s", wrong[i].set, self.err);
        cr_expect_eq(line_count(self.err), 1, "%s", self.err);
        cr_expect_str_empty(self.out);
    }
}

// ---- output that goes nowhere ----

static void check_output_fails(const char *out_path, const char *const *words) {
    self.out_path = out_path;
    child_run(&self, words);
    cr_expect_eq(self.code, 1, "%s %s to \"%s\": %d", words[0], words[1], out_path, self.code);
    cr_expect(strstr(self.err, "standard output"), "%s", self.err);
}

Test(cli, fails_where_its_results_cannot_be_written) {
    child_write(&self, "file.json", small);
    check_output_fails("/dev/full", WORDS("--version"));
    check_output_fails("/dev/full", WORDS("run", "--help"));
    check_output_fails("/dev/full", WORDS("plugins", "list"));
    check_output_fails("/dev/full", WORDS("run", "file.json", "--out", "full"));
    check_output_fails("", WORDS("--version"));
    check_output_fails("", WORDS("plugins", "list"));
    check_output_fails("", WORDS("run", "file.json", "--out", "closed"));
}

Test(cli, keeps_its_files_clean_where_the_standard_streams_are_closed) {
    child_write(&self, "file.json", small);
    self.closes_all = true;
    child_run(&self, WORDS("run", "file.json", "--out", "closed"));
    cr_expect_eq(self.code, 1);
    static const char *const files[] = {"closed/metrics.jsonl", "closed/genomes.jsonl",
                                        "closed/events.jsonl", "closed/config.resolved.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = child_read(&self, files[i]);
        cr_expect(text[0] == '{' || (i == 2 && text[0] == 0), "%s: %s", files[i], text);
        cr_expect_null(strstr(text, "hox: "), "%s: %s", files[i], text);
        cr_expect_null(strstr(text, "generation 1/"), "%s: %s", files[i], text);
        free(text);
    }
}

// ---- plugins ----

Test(cli, lists_every_plugin_file_and_why_one_is_refused) {
    static const struct {
        const char *folder, *file;
        bool accepted;
        const char *message;
    } doubles[] = {
#define X(folder, file, accepted, message) {folder, file, accepted, message},
        DOUBLES(X)
#undef X
    };
    char paths[8192] = "";
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        if (i == 0 || strcmp(doubles[i].folder, doubles[i - 1].folder) != 0) {
            const size_t used = strlen(paths);
            snprintf(paths + used, sizeof paths - used, "%s" HOX_DOUBLES_DIR "/%s", used ? ":" : "",
                     doubles[i].folder);
        }
    child_run(&self, WORDS("plugins", "list", "--plugin-path", paths));
    cr_expect_eq(self.code, 0, "%s", self.err);
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        char path[4096];
        snprintf(path, sizeof path, HOX_DOUBLES_DIR "/%s/%s", doubles[i].folder, doubles[i].file);
        char *at = strstr(self.out, path);
        cr_assert_not_null(at, "%s is not listed", path);
        while (at > self.out && at[-1] != '\n')
            at--;
        char *line = strndup(at, strcspn(at, "\n"));
        // a good one may be hidden by its like in an earlier folder
        const bool is_fine = doubles[i].accepted
                                 ? strncmp(line, "refused", 7) != 0 || strstr(line, "hidden by")
                                 : strncmp(line, "refused", 7) == 0 &&
                                       (strstr(line, doubles[i].message) || strstr(line, "hidden"));
        cr_expect(is_fine, "%s", line);
        free(line);
    }
    cr_expect(strstr(self.out, "eager"), "those of the build stand behind them: %s", self.out);
}

Test(cli, finds_plugins_by_option_and_exits_with_4_without) {
    child_write(&self, "file.json", small);
    char *link = temp_path(&self.folder, "fitness_own.so");
    cr_assert_eq(symlink(HOX_DOUBLES_DIR "/name/fitness_Upper.so", link), 0);
    child_run(&self, WORDS("run", "file.json", "--set", "fitness.plugin=own"));
    cr_expect_eq(self.code, 4, "the current folder is not looked in: %s", self.err);
    cr_expect(strstr(self.err, "no fitness plugin \"own\""), "%s", self.err);
    child_run(&self,
              WORDS("run", "file.json", "--plugin-path", ".", "--set", "fitness.plugin=own"));
    cr_expect_eq(self.code, 4, "%s", self.err);
    cr_expect(strstr(self.err, "the name must be a-z"), "%s", self.err);
    free(link);
}
