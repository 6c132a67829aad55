// memory_threads.c - where lanes fight for too little memory, with the split in chunks or not, they
// find what one lane finds that has plenty.
#include "evaluation_fixture.h"
#include "plugin_fixture.h"

// The split takes 86400 bytes and leaves at best room for the largest runner at five images.
enum { STREAMED = 90000, RESIDENT = 150000 };

// The later ones are larger; the thread sanitizer, which runs this 20 times, takes the first.
#if defined(__SANITIZE_THREAD__)
enum { GENOMES = 4 };
#else
enum { GENOMES = RANDOM_GENOMES };
#endif

typedef struct squeeze {
    int64_t cap, lanes, group;
    int32_t pool;
} squeeze;

static int complain(const squeeze *how, int round, const char *what) {
    printf("cap %d, %d lanes, groups of %d, pool %d, round %d: %s\n", (int)how->cap,
           (int)how->lanes, (int)how->group, how->pool, round, what);
    return 1;
}

static int compare(const squeeze *how, int round, const evaluation_result *results,
                   const evaluation_result *expected) {
    int failed = 0;
    for (int i = 0; i < GENOMES; i++)
        if (!result_equals(&results[i], &expected[i]))
            failed = complain(how, round,
                              results[i].reason ? results[i].error.message : "another result");
    return failed;
}

static int run(const squeeze *how, genome *const *genomes, const evaluation_result *expected) {
    static engine self;
    hox_error error = HOX_ERROR_INIT;
    int failed = 0;
    init_random(&self, hungry_plugin());
    self.config.gpu_vram_cap_bytes = how->cap;
    engine_hungry(&self)->group = how->group;
    engine_hungry(&self)->pool = how->pool;
    if (engine_open(&self, how->lanes, 16, &error) != HOX_OK)
        return complain(how, 0, error.message);
    for (int round = 0; round < 2; round++) {
        evaluation_result results[GENOMES];
        engine_score(&self, genomes, GENOMES, results);
        failed |= compare(how, round, results, expected);
        engine_end_generation(&self, results, GENOMES);
    }
    if (engine_count(&self, VRAM_SHRUNK) == 0) failed = complain(how, 1, "memory never ran out");
    if ((engine_count(&self, MEMORY_STREAMED) > 0) != (how->cap == STREAMED))
        failed = complain(how, 1, "the split is not where it should be");
    if (engine_deinit(&self) != 0) failed = complain(how, 1, "bytes stay in the ledger");
    return failed;
}

int main(void) {
    static const int64_t caps[] = {STREAMED, RESIDENT}, lanes[] = {1, 2, 3, 8}, groups[] = {1, 8};
    static engine plenty;
    genome *genomes[RANDOM_GENOMES];
    evaluation_result expected[GENOMES];
    int failed = 0;
    random_genomes(genomes);
    start_random(&plenty, 1, 16);
    engine_score(&plenty, genomes, GENOMES, expected);
    failed |= engine_deinit(&plenty) != 0;
    for (int i = 0; i < 16; i++) {
        const squeeze how = {caps[i % 2], lanes[i / 2 % 4], groups[i / 8], (i / 2 + i / 8) % 2};
        failed |= run(&how, genomes, expected);
    }
    destroy_genomes(genomes, RANDOM_GENOMES);
    return failed;
}
