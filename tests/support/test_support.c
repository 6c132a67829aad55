// test_support.c - the tools the other tests trust, against values worked out elsewhere.
#include "host_double.h"
#include "random_plan.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <string.h>

// The known answers of Random123, kat_vectors, philox4x32 10.
Test(support, random_is_philox4x32_10) {
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t words[4];
    } rows[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         UINT64_C(0xffffffffffffffff),
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    host_double host;
    host_double_init(&host);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t words[4];
        host.host.random(&host.host, rows[i].key, rows[i].counter, words);
        cr_expect_arr_eq(words, rows[i].words, sizeof words, "row %zu", i);
    }
}

Test(support, ledger_refuses_over_budget_and_on_demand) {
    host_double host;
    host_double_init(&host);
    host.budget_bytes = 100;
    host.fail_at_reserve = 3;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(host.host.reserve(&host.host, "cpu", 60, NULL), HOX_OK);
    cr_expect_eq(host.host.reserve(&host.host, "cpu", 41, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(error.bytes_requested, 41);
    cr_expect_eq(error.bytes_available, 40);
    cr_expect_eq(host.host.reserve(&host.host, "cpu", 1, NULL), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(host.host.reserve(&host.host, "cpu", 40, NULL), HOX_OK);
    host.host.release(&host.host, "cpu", 60);
    cr_expect_eq(host.live_bytes, 40);
    cr_expect_eq(host.peak_bytes, 100);
}

// A 1 x 2 x 2 image (1 2; 3 4) to 1 x 1 x 1: k = 2; then to 1 x 2 x 3 padded: p = 1, and k = 2 in
// rows (1 + 2 - 2 + 1), k = 1 in columns (1 + 2 - 3 + 1).
Test(support, reference_follows_the_definition) {
    static const float image[] = {1, 2, 3, 4};
    static const float weights[] = {1, -1, 0.5F, -2, 0.25F, /**/ 3, 5, -0.5F};
    random_plan made;
    plan_begin(&made, HOX_READOUT_SUM);
    plan_add_node(&made, 1, 2, 2, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&made, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
    plan_add_edge(&made, 0);
    // 1 - 2 + 1.5 - 8 + 0.25
    const reference_result first = reference_evaluate(&made.plan, weights, image);
    cr_expect_float_eq(first.logit, -7.25, 1e-12);
    cr_expect_float_eq(first.scale, 12.75, 1e-12);
    cr_expect_float_eq(reference_tolerance(&first, 1e-4), 13.75e-4, 1e-12);

    plan_add_node(&made, 1, 2, 3, HOX_ACTIVATION_RELU);
    plan_add_edge(&made, 1);
    cr_assert_eq(made.plan.weight_count, sizeof weights / sizeof *weights);
    // row 0 meets the pixel under tap 5, row 1 under tap 3, in the middle column; relu leaves none
    cr_expect_float_eq(reference_evaluate(&made.plan, weights, image).logit, 0, 1e-12);
    made.activation[2] = HOX_ACTIVATION_IDENTITY;
    const reference_result sum = reference_evaluate(&made.plan, weights, image);
    cr_expect_float_eq(sum.logit, -7.25 * 8 - 0.5 * 6, 1e-12);
    cr_expect_float_eq(sum.scale, 7.25 * 8 + 0.5 * 6, 1e-12);
    // sorted: -36.75 -22.25 -0.5 -0.5 -0.5 -0.5; the lower middle is the third
    made.plan.readout = HOX_READOUT_MEAN_MINUS_MEDIAN;
    const reference_result median = reference_evaluate(&made.plan, weights, image);
    cr_expect_float_eq(median.logit, -61.0 / 6 + 0.5, 1e-12);
    cr_expect_float_eq(median.scale, 61.0 / 6 + 0.5, 1e-12);
}

static void check_geometry(const hox_plan *plan, uint32_t edge, uint32_t target) {
    const uint32_t source = plan->edge_source[edge];
    cr_assert_lt(source, target);
    cr_assert_eq(
        plan->node_height[target],
        (plan->node_height[source] + 2 * plan->edge_padding_h[edge] - plan->edge_kernel_h[edge]) /
                plan->edge_stride_h[edge] +
            1);
    cr_assert_eq(
        plan->node_width[target],
        (plan->node_width[source] + 2 * plan->edge_padding_w[edge] - plan->edge_kernel_w[edge]) /
                plan->edge_stride_w[edge] +
            1);
}

Test(support, random_plans_fit_and_reach_the_corners) {
    uint64_t activations = 0, readouts = 0, strides = 0, paddings = 0;
    uint32_t largest_kernel = 0, most_channels = 0, most_edges = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        random_plan made;
        random_plan_make(&made, seed);
        const hox_plan *plan = &made.plan;
        readouts |= 1U << plan->readout;
        for (uint32_t node = 1; node < plan->node_count; node++) {
            const uint32_t begin = plan->node_edge_begin[node],
                           end = plan->node_edge_begin[node + 1];
            cr_assert_lt(begin, end);
            activations |= 1U << plan->node_activation[node];
            if (plan->node_channels[node] > most_channels)
                most_channels = plan->node_channels[node];
            if (end - begin > most_edges) most_edges = end - begin;
            for (uint32_t edge = begin; edge < end; edge++) {
                check_geometry(plan, edge, node);
                strides |= 1U << plan->edge_stride_h[edge];
                if (plan->edge_padding_w[edge] < 10) paddings |= 1U << plan->edge_padding_w[edge];
                if (plan->edge_kernel_w[edge] > largest_kernel)
                    largest_kernel = plan->edge_kernel_w[edge];
            }
        }
        for (uint32_t node = 0; node + 1 < plan->node_count; node++)
            cr_assert_gt(plan->node_last_use[node], node, "seed %zu: node %u is dead", (size_t)seed,
                         node);
    }
    cr_expect_eq(activations, (1U << HOX_ACTIVATION_COUNT) - 1);
    cr_expect_eq(readouts, (1U << HOX_READOUT_COUNT) - 1);
    cr_expect_eq(strides, 0xE);
    cr_expect_eq(paddings, 0x3FF);
    cr_expect_eq(largest_kernel, 64);
    cr_expect_eq(most_channels, 64);
    cr_expect_geq(most_edges, 4);
}
