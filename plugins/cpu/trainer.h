// trainer.h - backpropagation on the CPU, a block of 16 images at a time: forward keeps every map
// and every activation's derivatives, backward goes through the same kernels the other way round.
//
// The derivatives by a map are a convolution too (of those by its readers' maps, with kernels
// turned and their channels exchanged), so the kernels that compute maps compute them.
#pragma once

#include "cpu/program.h"
#include "cpu/samples.h"

#include <hox/weights.h>

typedef struct cpu_trainer cpu_trainer;

// For up to capacity images; memory for all of it. Errors: out of memory. [lane]
hox_status cpu_trainer_create(const hox_host *host, const hox_plan *plan, uint32_t capacity,
                              cpu_trainer **trainer, hox_error *error) HOX_MUST_CHECK;
void cpu_trainer_destroy(cpu_trainer *trainer); // NULL too

// As in hox_runtime_api; what comes in fits. [lane]
void cpu_trainer_forward(cpu_trainer *t, const cpu_kernels *kernels, const float *weights,
                         const hox_samples *samples, const uint64_t *indices, uint64_t count,
                         float *logits);
// Errors: INVALID_ARGUMENT before any forward.
hox_status cpu_trainer_backward(cpu_trainer *t, const cpu_kernels *kernels, const float *dlogits,
                                float *gradient, hox_error *error) HOX_MUST_CHECK;
