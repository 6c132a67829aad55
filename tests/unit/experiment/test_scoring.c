// test_scoring.c - what is known is not evaluated again, and what is not, is.
#include "experiment/scoring.h"
#include "experiment_fixture.h"

#include <criterion/criterion.h>

enum { POPULATION = 8, LATER = 4 };

static const char small[] =
    "{\"seed\": 5, \"dataset\": {\"plugin\": \"synthetic\", \"train_count\": 80, "
    "\"test_count\": 20, \"size\": 8}, \"task\": {\"positive_class\": 0}, \"evaluation\": "
    "{\"fitness_eval_parallel\": 1}, \"evolution\": {\"population_size\": 8, \"species\": "
    "{\"champion_kept_from\": 2}}}";

// ---- a fitness that counts ----

static uint64_t score_count;

static hox_status score(const void *options, const hox_predictions *p,
                        const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts, (void)error;
    score_count++;
    *fitness = -p->logloss;
    return HOX_OK;
}

static const hox_fitness_api steady_api = {
    .struct_size = sizeof steady_api, .flags = HOX_FITNESS_DETERMINISTIC, .score = score};
static const hox_fitness_api moody_api = {.struct_size = sizeof moody_api, .score = score};
static const hox_plugin steady = {.struct_size = sizeof steady,
                                  .name = "steady",
                                  .kind = HOX_KIND_FITNESS,
                                  .fitness = &steady_api};
static const hox_plugin moody = {
    .struct_size = sizeof moody, .name = "moody", .kind = HOX_KIND_FITNESS, .fitness = &moody_api};

// ---- an evolution and a session ----

static lab self;
static session opened;
static evolution *evolved;
static const population *people;
static scoring known;

static void tell(void) {
    double fitness[POPULATION];
    for (size_t i = 0; i < POPULATION; i++)
        fitness[i] = known.results[i].fitness;
    evolution_tell(evolved, fitness);
    cr_assert_eq(evolution_ask(evolved, &people, NULL), HOX_OK);
}

static void setup(void) {
    hox_error error = HOX_ERROR_INIT;
    lab_init(&self);
    cr_assert_eq(lab_load(&self, small, NULL, &error), HOX_OK, "%s", error.message);
    self.config.fitness.plugin = &steady;
    cr_assert_eq(session_open(&opened, &self.config, NULL, (memory_listener){0}, &error), HOX_OK,
                 "%s", error.message);
    cr_assert_eq(evolution_create(&self.config.evolution, &self.config.genome, 5,
                                  (map_size){3, 8, 8}, &evolved, &error),
                 HOX_OK);
    cr_assert_eq(evolution_ask(evolved, &people, &error), HOX_OK);
    cr_assert_eq(scoring_init(&known, POPULATION, &error), HOX_OK);
}

static void teardown(void) {
    scoring_deinit(&known);
    scoring_deinit(&known);
    evolution_destroy(evolved);
    session_close(&opened);
    lab_unload(&self);
    lab_deinit(&self);
}

TestSuite(scoring, .init = setup, .fini = teardown);

// Scores people; returns how many were evaluated.
static uint64_t run(scoring *s) {
    hox_error error = HOX_ERROR_INIT;
    const uint64_t before = score_count;
    cr_assert_eq(scoring_run(s, &opened, people, &error), HOX_OK, "%s", error.message);
    return score_count - before;
}

// The naive way.
static void check_results(const scoring *s) {
    const genome *genomes[POPULATION];
    evaluation_result expected[POPULATION];
    for (size_t i = 0; i < POPULATION; i++)
        genomes[i] = people->items[i].genome;
    cr_assert_eq(session_score(&opened, SPLIT_SELECT, genomes, POPULATION, expected, NULL), HOX_OK);
    for (size_t i = 0; i < POPULATION; i++) {
        const evaluation_result *a = &s->results[i], *b = &expected[i];
        cr_expect(memcmp(&a->fitness, &b->fitness, sizeof a->fitness) == 0, "slot %zu", i);
        cr_expect(memcmp(&a->metrics, &b->metrics, sizeof a->metrics) == 0, "slot %zu", i);
        cr_expect(memcmp(&a->facts, &b->facts, sizeof a->facts) == 0, "slot %zu", i);
        cr_expect_eq(a->structure_hash[0], b->structure_hash[0], "slot %zu", i);
        cr_expect_eq(s->ids[i], genomes[i]->id);
    }
}

static bool is_same(size_t a, size_t b) {
    const hash128 left = genome_content_hash(people->items[a].genome);
    const hash128 right = genome_content_hash(people->items[b].genome);
    return memcmp(&left, &right, sizeof left) == 0;
}

// Contents in people; those without an elite alone where wanted.
static uint64_t count_contents(bool without_elites) {
    uint64_t count = 0;
    for (size_t i = 0; i < POPULATION; i++) {
        bool counts = true;
        for (size_t k = 0; k < POPULATION; k++) {
            if (!is_same(i, k)) continue;
            counts = counts && k >= i && !(without_elites && people->items[k].is_elite);
        }
        count += counts;
    }
    return count;
}

static void become_twin(size_t slot, size_t of) {
    genome *twin = genome_copy(people->items[of].genome, NULL);
    twin->id = people->items[slot].genome->id;
    genome_destroy(people->items[slot].genome);
    people->items[slot].genome = twin;
    people->items[slot].is_elite = false;
}

// ---- the tests ----

Test(scoring, evaluates_twins_once) {
    cr_expect_eq(run(&known), POPULATION, "all differ");
    check_results(&known);
    become_twin(5, 2);
    become_twin(7, 2);
    scoring again;
    cr_assert_eq(scoring_init(&again, POPULATION, NULL), HOX_OK);
    cr_expect_eq(run(&again), POPULATION - 2);
    cr_expect_eq(again.evaluation_count, POPULATION - 2);
    check_results(&again);
    scoring_deinit(&again);
}

Test(scoring, evaluates_elites_never_again) {
    uint64_t elites = 0, expected = run(&known);
    for (int generation = 1; generation <= LATER; generation++) {
        tell();
        for (size_t i = 0; i < POPULATION; i++)
            elites += people->items[i].is_elite;
        const uint64_t fresh = count_contents(true);
        expected += fresh;
        cr_expect_eq(run(&known), fresh, "generation %d", generation);
        cr_expect_eq(known.evaluation_count, expected, "generation %d", generation);
        check_results(&known);
    }
    cr_expect_gt(elites, LATER, "more than the champions of all");
}

Test(scoring, evaluates_no_twin_of_an_elite) {
    run(&known);
    tell();
    size_t elite = 0, other = 0;
    while (elite < POPULATION && !people->items[elite].is_elite)
        elite++;
    cr_assert_lt(elite, POPULATION);
    while (people->items[other].is_elite)
        other++;
    become_twin(other, elite);
    cr_expect_eq(run(&known), count_contents(true));
    check_results(&known);
}

// Whether the results of the generation before are at hand must not show.
Test(scoring, counts_the_same_after_a_resumption) {
    run(&known);
    for (int generation = 1; generation <= LATER; generation++) {
        tell();
        scoring resumed;
        cr_assert_eq(scoring_init(&resumed, POPULATION, NULL), HOX_OK);
        resumed.evaluation_count = known.evaluation_count;
        cr_expect_eq(run(&resumed), count_contents(false), "elites have to be evaluated");
        check_results(&resumed);
        run(&known);
        cr_expect_eq(resumed.evaluation_count, known.evaluation_count);
        scoring_deinit(&resumed);
    }
}

Test(scoring, evaluates_all_where_fitness_is_moody) {
    self.config.fitness.plugin = &moody;
    cr_expect_eq(run(&known), POPULATION);
    become_twin(5, 2);
    cr_expect_eq(run(&known), POPULATION);
    tell();
    cr_expect_eq(run(&known), POPULATION);
    cr_expect_eq(known.evaluation_count, 3 * POPULATION);
    self.config.fitness.plugin = &steady;
}
