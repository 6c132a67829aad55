// test_signals.c - a run that is told to end: the first signal after its generation, with whole
// files; the second at once.
#include "child.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static child self;

static void setup(void) {
    child_init(&self);
}

static void teardown(void) {
    child_deinit(&self);
}

TestSuite(signals, .init = setup, .fini = teardown);

static const char endless[] =
    "{\"seed\": 5, \"dataset\": {\"plugin\": \"synthetic\", \"train_count\": 80, \"test_count\": "
    "20, \"size\": 8}, \"task\": {\"positive_class\": 0}, \"evolution\": {\"population_size\": 4}, "
    "\"stop\": {\"max_generations\": 1000000}}";

// One generation of this takes many seconds: 1000 genomes x 2100 images x 18 kFLOP.
static const char slow[] =
    "{\"seed\": 5, \"dataset\": {\"plugin\": \"synthetic\", \"train_count\": 6000, \"test_count\": "
    "20, \"size\": 32}, \"task\": {\"positive_class\": 0}, \"evolution\": {\"population_size\": "
    "1000}, \"evaluation\": {\"fitness_eval_parallel\": 2}}";

#define RUN ((const char *const[]){"run", "file.json", "--out", "out", NULL})

static size_t check_lines(const char *name) {
    char *text = child_read(&self, name), *line = text;
    size_t count = 0;
    for (char *end; (end = strchr(line, '\n')); line = end + 1, count++) {
        json_t *json = json_loadb(line, (size_t)(end - line), 0, NULL);
        cr_expect_not_null(json, "%s, line %zu", name, count);
        json_decref(json);
    }
    cr_expect_str_empty(line, "%s ends in half a line", name);
    free(text);
    return count;
}

static json_t *read_json(const char *name) {
    char *text = child_read(&self, name);
    json_t *json = json_loads(text, 0, NULL);
    cr_assert_not_null(json, "%s: %s", name, text);
    free(text);
    return json;
}

static void check_ends_whole(int signal_number, int code) {
    child_write(&self, "file.json", endless);
    child_start(&self, RUN);
    child_wait_for(&self, "generation 1 ");
    kill(self.process, signal_number);
    child_wait(&self);
    cr_expect_eq(self.code, code, "%d: %s", self.code, self.err);
    cr_expect(strstr(self.out, "champion: genome "), "%s", self.out);
    cr_expect(strstr(self.out, "test       not measured"), "%s", self.out);

    json_t *run = read_json("out/run.json"), *result = json_object_get(run, "result");
    const json_int_t generations = json_integer_value(json_object_get(result, "generations"));
    cr_expect_geq(generations, 2);
    cr_expect_eq(json_integer_value(json_object_get(result, "stop_signal")), signal_number);
    cr_expect_eq(check_lines("out/metrics.jsonl"), (size_t)generations);
    cr_expect_eq(check_lines("out/genomes.jsonl"), 4 * (size_t)generations);
    check_lines("out/events.jsonl");
    json_decref(read_json("out/champion/genome.json"));
    json_decref(run);
}

Test(signals, end_a_run_after_its_generation_sigint) {
    check_ends_whole(SIGINT, 130);
}

Test(signals, end_a_run_after_its_generation_sigterm) {
    check_ends_whole(SIGTERM, 143);
}

// A scheduler's way to ask: no failure.
Test(signals, end_a_run_after_its_generation_sigusr1) {
    check_ends_whole(SIGUSR1, 0);
}

// Signals that wait for delivery are one, hence the loop. The generation has not ended.
Test(signals, end_a_run_at_once_the_second_time) {
    child_write(&self, "file.json", slow);
    child_start(&self, RUN);
    child_wait_for(&self, "writing to out");
    siginfo_t info = {0};
    for (int i = 0; i < 3000 && info.si_pid == 0; i++) {
        kill(self.process, SIGINT);
        usleep(10000);
        waitid(P_PID, (id_t)self.process, &info, WEXITED | WNOHANG | WNOWAIT);
    }
    if (info.si_pid == 0) kill(self.process, SIGKILL);
    child_wait(&self);
    cr_expect_eq(self.code, 128 + SIGINT, "%d: %s", self.code, self.err);
    cr_expect_eq(check_lines("out/metrics.jsonl"), 0);
    json_t *run = read_json("out/run.json");
    cr_expect(json_is_null(json_object_get(run, "result")));
    json_decref(run);
}
