// test_topologies.c - graphs evolved by the older system: all load, with the counts, the work and
// the weights that the table beside them says.
#include "genome/validate.h"
#include "io/genome_json.h"
#include "plan/plan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    uint32_t nodes, edges, enabled, executed;
    const char *mflop;
    uint64_t weights; // without biases
} topologies[] = {
    {"evolved_01", 3, 3, 3, 3, "1.35", 14121},     {"evolved_03", 9, 18, 14, 10, "3.11", 12168},
    {"evolved_05", 15, 29, 25, 21, "4.85", 12114}, {"evolved_06", 18, 38, 30, 27, "5.17", 12762},
    {"evolved_08", 18, 36, 29, 24, "5.93", 12996}, {"evolved_11", 14, 32, 26, 26, "16.64", 137540},
    {"evolved_13", 6, 9, 6, 5, "1.72", 6363},
};

static void need_samples(void) {
    if (access(HOX_SHARED_DIR "/genomes", R_OK) == 0) return;
    fputs("skipped: no sample topologies in " HOX_SHARED_DIR "/genomes\n", stderr);
    cr_skip_test("no samples");
}

static genome *load(const char *name, uint64_t seed) {
    need_samples();
    char path[4096];
    snprintf(path, sizeof path, HOX_SHARED_DIR "/genomes/%s.json", name);
    hox_error error = HOX_ERROR_INIT;
    genome *g;
    cr_assert_eq(genome_json_load(path, seed, 32, NULL, &g, &error), HOX_OK, "%s", error.message);
    return g;
}

static uint64_t bias_count(const hox_plan *p) {
    uint64_t count = 0;
    for (uint32_t node = 0; node < p->node_count; node++)
        count += (uint64_t)p->node_channels[node] *
                 (p->node_edge_begin[node + 1] - p->node_edge_begin[node]);
    return count;
}

Test(topologies, load_with_the_numbers_of_their_table) {
    for (size_t i = 0; i < sizeof topologies / sizeof *topologies; i++) {
        genome *g = load(topologies[i].name, 1);
        plan p;
        cr_assert_eq(plan_init(&p, g, NULL), HOX_OK);
        char mflop[32];
        snprintf(mflop, sizeof mflop, "%.2f", (double)p.view.flops_per_sample * 1e-6);
        cr_expect_eq(g->node_count, topologies[i].nodes, "%s", topologies[i].name);
        cr_expect_eq(g->edge_count, topologies[i].edges, "%s", topologies[i].name);
        cr_expect_eq(genome_enabled_edge_count(g), topologies[i].enabled, "%s", topologies[i].name);
        cr_expect_eq(p.view.edge_count, topologies[i].executed, "%s", topologies[i].name);
        cr_expect_str_eq(mflop, topologies[i].mflop, "%s", topologies[i].name);
        cr_expect_eq(p.view.weight_count - bias_count(&p.view), topologies[i].weights, "%s",
                     topologies[i].name);
        plan_deinit(&p);
        genome_destroy(g);
    }
}

Test(topologies, may_have_a_cycle_that_is_disabled) {
    genome *g = load("evolved_08", 1);
    for (size_t i = 0; i < g->edge_count; i++)
        g->edges[i].is_enabled = true;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(genome_validate(g, 0, &error), HOX_INVALID_ARGUMENT);
    cr_expect(strstr(error.message, "lies on a cycle of enabled edges"), "%s", error.message);
    genome_destroy(g);
}

// Kernel 32 of 3 x 3 channels: 9216 draws of variance 2 / 3072, times the square of the scale. The
// mean square of n draws is within 5 of its own deviations, sqrt(2 / n) of it.
Test(topologies, draw_kernels_of_the_right_size_by_seed) {
    genome *g = load("evolved_01", 1), *again = load("evolved_01", 1),
           *other = load("evolved_01", 2);
    const kernel *k = g->edges[0].kernel;
    const uint64_t count = kernel_weight_count(k);
    cr_assert_eq(count, 9216);
    double square_sum = 0;
    for (uint64_t i = 0; i < count; i++)
        square_sum += (double)k->values[i] * (double)k->values[i];
    const double expected = 2.0 / 3072 * 0.557707 * 0.557707;
    cr_expect_float_eq(square_sum / (double)count, expected, expected * 5 * sqrt(2.0 / 9216));
    for (uint64_t i = count; i < kernel_value_count(k); i++)
        cr_expect_eq(k->values[i], 0, "a bias");
    cr_expect_arr_eq(k->values, again->edges[0].kernel->values, count * sizeof(float));
    cr_expect_arr_neq(k->values, other->edges[0].kernel->values, count * sizeof(float));
    genome_destroy(g);
    genome_destroy(again);
    genome_destroy(other);
}

// ---- the small print, on a topology of the test's own ----

static genome *read_topology(const char *activation, const char *scale) {
    char text[1024];
    snprintf(text, sizeof text,
             "{\"activation\": %s, \"output_readout\": \"mean\", \"nodes\": [{\"id\": 0, \"size\": "
             "4}, {\"id\": 1, \"size\": 1}, {\"id\": 5, \"size\": 3, \"channels\": 8}], "
             "\"edges\": [{\"from\": 0, \"to\": 5, \"kernel\": 2, \"padding\": 0, \"stride\": 1, "
             "\"enabled\": true%s}, {\"from\": 5, \"to\": 1, \"kernel\": 3, \"padding\": 0, "
             "\"stride\": 1, \"enabled\": true}]}",
             activation, scale);
    json_t *json = json_loads(text, 0, NULL);
    hox_error error = HOX_ERROR_INIT;
    genome *g;
    cr_assert_eq(genome_json_read(json, 3, 0, NULL, &g, &error), HOX_OK, "%s", error.message);
    json_decref(json);
    return g;
}

Test(topologies, fold_the_scale_into_the_kernel) {
    genome *plain = read_topology("null", ""), *null = read_topology("null", ", \"scale\": null"),
           *scaled = read_topology("null", ", \"scale\": -1.25");
    const kernel *a = plain->edges[0].kernel, *b = null->edges[0].kernel,
                 *c = scaled->edges[0].kernel;
    for (uint64_t i = 0; i < kernel_value_count(a); i++) {
        cr_expect_eq(b->values[i], a->values[i]);
        cr_expect_eq(c->values[i], a->values[i] * -1.25F);
    }
    cr_expect_arr_eq(plain->edges[1].kernel->values, scaled->edges[1].kernel->values,
                     8 * 3 * 9 * sizeof(float), "the other edge keeps its draw");
    genome_destroy(plain);
    genome_destroy(null);
    genome_destroy(scaled);
}

Test(topologies, fill_in_channels_and_activation) {
    genome *g = read_topology("null", ""), *gelu = read_topology("\"gelu\"", "");
    cr_expect_eq(g->readout, HOX_READOUT_MEAN);
    cr_expect_eq(g->nodes[0].size.channels, 3);
    cr_expect_eq(g->nodes[1].size.channels, 3);
    cr_expect_eq(g->nodes[2].size.channels, 8);
    cr_expect_eq(g->nodes[2].size.width, 3);
    cr_expect_eq(g->nodes[2].activation, HOX_ACTIVATION_IDENTITY);
    cr_expect_eq(gelu->nodes[0].activation, HOX_ACTIVATION_IDENTITY);
    cr_expect_eq(gelu->nodes[1].activation, HOX_ACTIVATION_IDENTITY);
    cr_expect_eq(gelu->nodes[2].activation, HOX_ACTIVATION_GELU);
    cr_expect_eq(g->edges[0].innovation, 1);
    cr_expect_eq(g->edges[1].innovation, 2);
    genome_destroy(g);
    genome_destroy(gelu);
}
