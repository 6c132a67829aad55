// fitness.h - the contract of a fitness function: one number from the logits of one genome.
#pragma once

#include <hox/status.h>

enum { HOX_FITNESS_DETERMINISTIC = 1u << 0 }; // equal input, equal fitness

// A binary decision: positive where logit >= threshold.
typedef struct hox_predictions {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t count;        // images, at least 1
    const float *logits;   // count, finite
    const uint8_t *labels; // count, 1 = positive class
    double threshold;
    uint64_t true_positives, true_negatives, false_positives, false_negatives; // sum: count
    // Zero denominators give 0; an absent class counts 0 in balanced accuracy.
    double accuracy, balanced_accuracy, precision, recall, f1, mcc;
    double auc;     // by ranks, ties at mid-rank; 0.5 where a class is absent
    double logloss; // mean, natural logarithm
} hox_predictions;

// Size of the genome: all of it, the enabled part, and the part that runs.
typedef struct hox_genome_facts {
    uint32_t struct_size;
    uint32_t reserved;
    uint32_t node_count, edge_count;
    uint32_t enabled_edge_count;
    uint32_t executed_node_count, executed_edge_count;
    uint32_t reserved_2;
    uint64_t weight_count;     // of the executed part, biases included
    uint64_t flops_per_sample; // of the executed part
} hox_genome_facts;

typedef struct hox_fitness_api {
    uint32_t struct_size;
    uint32_t flags;

    // Higher is better; a value that is not finite is a failed genome. [any]
    hox_status (*score)(const void *options, const hox_predictions *predictions,
                        const hox_genome_facts *facts, double *fitness, hox_error *error);
} hox_fitness_api;
