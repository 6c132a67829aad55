// evaluation_threads.c - two and eight lanes find what one lane finds, twice in a row.
#include "evaluation_fixture.h"

static int compare(const genome *const genomes[RANDOM_GENOMES],
                   const evaluation_result expected[RANDOM_GENOMES], int64_t lanes) {
    engine self;
    int failed = 0;
    start_random(&self, lanes, 16);
    for (int round = 0; round < 2; round++) {
        evaluation_result results[RANDOM_GENOMES];
        if (evaluation_score(self.evaluation, genomes, RANDOM_GENOMES, &self.split, results,
                             NULL) != HOX_OK)
            return 1;
        for (int i = 0; i < RANDOM_GENOMES; i++)
            if (!result_equals(&results[i], &expected[i])) {
                printf("%lld lanes, round %d: genome %d differs\n", (long long)lanes, round, i);
                failed = 1;
            }
    }
    return engine_deinit(&self) != 0 || failed;
}

int main(void) {
    genome *genomes[RANDOM_GENOMES];
    evaluation_result expected[RANDOM_GENOMES];
    random_genomes(genomes);
    engine self;
    start_random(&self, 1, 16);
    int failed = evaluation_score(self.evaluation, (const genome *const *)genomes, RANDOM_GENOMES,
                                  &self.split, expected, NULL) != HOX_OK;
    failed |= engine_deinit(&self) != 0;
    failed |= compare((const genome *const *)genomes, expected, 2);
    failed |= compare((const genome *const *)genomes, expected, 8);
    for (int i = 0; i < RANDOM_GENOMES; i++)
        genome_destroy(genomes[i]);
    return failed;
}
