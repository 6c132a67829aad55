// refinement_threads.c - genomes trained on many lanes at once, with memory and without, are what
// one lane makes of them.
#include "evaluation_fixture.h"
#include "plugin_fixture.h"

#include <string.h>

#if defined(__SANITIZE_THREAD__)
enum { GENOMES = 4 }; // the later ones are larger
#else
enum { GENOMES = RANDOM_GENOMES - 1 }; // the last one has no path
#endif

static const refinement_config config = {
    .elite_refinement_epochs = 2, .elite_refinement_batch_size = 40, .elite_refinement_lr = 0.01};
static const refinement_order order = {.config = &config, .seed = 3};

static int complain(int64_t lanes, size_t number, const char *what) {
    printf("%d lanes, genome %zu: %s\n", (int)lanes, number, what);
    return 1;
}

static void hash_refined(refinement_job *jobs, hash128 hashes[GENOMES]) {
    for (size_t i = 0; i < GENOMES; i++) {
        hashes[i] = jobs[i].refined ? genome_content_hash(jobs[i].refined) : (hash128){{0, 0}};
        genome_destroy(jobs[i].refined);
    }
}

// short_at: that call for a piece finds no memory; 0 = none.
static int run(genome *const *genomes, int64_t lanes, int64_t short_at, hash128 hashes[GENOMES]) {
    static engine self;
    hox_error error = HOX_ERROR_INIT;
    refinement_job jobs[GENOMES];
    int failed = 0;
    init_random(&self, hungry_plugin());
    engine_hungry(&self)->short_at = short_at;
    for (size_t i = 0; i < GENOMES; i++)
        jobs[i] = (refinement_job){.genome = genomes[i], .slot = (uint32_t)i};
    if (engine_open(&self, lanes, 16, &error) != HOX_OK) return complain(lanes, 0, error.message);
    if (evaluation_refine(self.evaluation, &order, &self.split, jobs, GENOMES, &error) != HOX_OK)
        failed = complain(lanes, 0, error.message);
    hash_refined(jobs, hashes);
    if (engine_deinit(&self) != 0) failed = complain(lanes, 0, "bytes stay in the ledger");
    return failed;
}

int main(void) {
    genome *genomes[RANDOM_GENOMES];
    hash128 expected[GENOMES], hashes[GENOMES];
    random_genomes(genomes);
    int failed = run(genomes, 1, 0, expected);
    for (int64_t lanes = 2; lanes <= 4; lanes++)
        for (int64_t short_at = 0; short_at <= 6; short_at += 3) {
            failed |= run(genomes, lanes, short_at, hashes);
            for (size_t i = 0; i < GENOMES; i++)
                if (memcmp(&hashes[i], &expected[i], sizeof *hashes) != 0)
                    failed = complain(lanes, i, "another result");
        }
    destroy_genomes(genomes, RANDOM_GENOMES);
    return failed;
}
