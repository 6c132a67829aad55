// loaded.c - see loaded.h.
#include "loaded.h"

#include "commands.h"
#include "genome/mutate.h"
#include "gpu.h"
#include "io/genome_json.h"

static void complete(loaded *l) {
    hox_error error = HOX_ERROR_INIT;
    must(plan_init(&l->plan, l->genome, &error), &error);
    must_be(l->plan.has_path, "no path from input to output");
    must(plan_weights_init(&l->weights, &l->plan, l->genome, &error), &error);
}

void loaded_read(loaded *l, const char *path, uint64_t seed) {
    hox_error error = HOX_ERROR_INIT;
    must(genome_json_load(path, seed, LARGEST_KERNEL, NULL, &l->genome, &error), &error);
    complete(l);
}

// No operator that adds: a genome from elsewhere has numbers that no table of innovations knows.
void loaded_breed(loaded *child, const loaded *parent, uint32_t slot) {
    static const mutation_config rates = {.weights = 1,
                                          .weights_edge = 0.03,
                                          .weights_step = 0.1,
                                          .remove_edge = 0.2,
                                          .activation = 0.2,
                                          .tries = 20};
    static const genome_config limits = {.max_kernel = LARGEST_KERNEL};
    hox_error error = HOX_ERROR_INIT;
    mutation_record record;
    rng unused;
    const mutation_context context = {&rates, &limits, NULL, &unused};
    child->genome = genome_copy(parent->genome, &error);
    must(error.status, &error);
    must(mutate(&child->genome, &context, rng_stream(3, 0, slot, RNG_PURPOSE_WEIGHTS),
                rng_stream(3, 0, slot, RNG_PURPOSE_STRUCTURE), &record, &error),
         &error);
    complete(child);
}

void loaded_drop(loaded *l) {
    plan_weights_deinit(&l->weights);
    plan_deinit(&l->plan);
    genome_destroy(l->genome);
}
