// genome_json.h - genomes as JSON: the format "hox-genome/1", and topologies of the older system.
//
// hox-genome/1: {"format", "id", "parents": [a, b], "readout",
//   "nodes": [{"id", "size": [C, H, W], "activation"}],
//   "edges": [{"innovation", "from", "to", "enabled", "kernel": [kh, kw], "stride": [h, w],
//   "padding": [h, w],
//              "weights": [Cout * Cin * kh * kw numbers], "bias": [Cout numbers]}]}
// Numbers have nine digits, so that every fp32 value comes back to the bit.
#pragma once

#include "base/log.h"
#include "genome/genome.h"

#include <jansson.h>

// NULL and OUT_OF_HOST_MEMORY without memory; the caller owns the reference. Print it with
// GENOME_JSON_FLAGS.
json_t *genome_json_print(const genome *g, hox_error *error);
#define GENOME_JSON_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

// Reads either format. A topology without weights (nodes: id, size, channels; edges: from, to,
// kernel, padding, stride, enabled, scale; an edge's place is its innovation) gets kernels from
// N(0, 2 / (Cin k^2)) by seed, and a scale is multiplied in. Disabled edges to unknown nodes are
// dropped with a warning. max_kernel as in genome_validate. Errors: CORRUPT, the message names the
// place in the JSON, the node or the edge. [main]
hox_status genome_json_read(const json_t *json, uint64_t seed, uint32_t max_kernel,
                            const log_sink *log, genome **out, hox_error *error) HOX_MUST_CHECK;

// The same from and to a file; messages begin with the path.
hox_status genome_json_load(const char *path, uint64_t seed, uint32_t max_kernel,
                            const log_sink *log, genome **out, hox_error *error) HOX_MUST_CHECK;
hox_status genome_json_save(const char *path, const genome *g, hox_error *error) HOX_MUST_CHECK;
