// runtime.h - the contract of a forward runtime: what computes logits from images and genomes.
//
// Life: open -> samples_create, samples_write -> per lane: prepare, evaluate ..., release ->
// samples_destroy
// -> close. The host runs one thread per lane. Thread tags: [main] the main thread alone, [any] any
// thread at any time, [lane] one call per lane at a time, lanes beside each other.
// On failure out pointers are NULL and nothing is kept, the ledger's bytes included. Destroying
// NULL is legal.
#pragma once

#include <hox/host.h>
#include <hox/plan.h>
#include <hox/weights.h>

enum { HOX_DEVICE_CPU = 1, HOX_DEVICE_CUDA = 2, HOX_DEVICE_OTHER = 3 };
enum { HOX_PRECISION_FP32 = 1, HOX_PRECISION_MIXED = 2 }; // bits of a set
enum { HOX_PURPOSE_INFER = 1, HOX_PURPOSE_TRAIN = 2 };

// Flags of hox_runtime_caps.
enum {
    HOX_RUNTIME_BATCH_INVARIANT = 1u << 0, // a logit depends on image and genome alone, to the bit
    HOX_RUNTIME_DETERMINISTIC = 1u << 1,   // the same call gives the same bits
    HOX_RUNTIME_SHARES_VALUES = 1u << 2,   // what jobs of one call have in common is computed once
    HOX_RUNTIME_TRAINS = 1u << 3           // has train_forward and train_backward
};

// Bodies are the plugin's own.
typedef struct hox_runtime hox_runtime; // one opened device
typedef struct hox_samples hox_samples; // a data split on the device, in the runtime's own layout
typedef struct hox_runner hox_runner;   // a structure made ready on one lane; holds no weights

typedef struct hox_device_info {
    uint32_t struct_size;
    uint32_t kind;
    uint32_t score;           // device "auto" takes the highest
    uint32_t flags;           // HOX_RUNTIME_TRAINS where a runtime opened here will have it
    uint64_t total_bytes;     // memory, 0 = unknown
    char name[64];            // for people
    char address[32];         // the name the ledger knows it by: "cpu", "cuda:0"
    char instruction_set[32]; // what a result's last bits depend on beside plugin and kind; "" =
                              // nothing
    char bus[16];             // where it sits on the machine's bus, "0000:1b:00.0"; "" = nowhere
} hox_device_info;

typedef struct hox_runtime_caps {
    uint32_t struct_size;
    uint32_t flags;
    uint32_t precisions;     // set of HOX_PRECISION_*
    uint32_t activations;    // bit i = HOX_ACTIVATION i
    uint32_t readouts;       // bit i = HOX_READOUT i
    uint32_t max_kernel;     // per axis
    uint32_t max_channels;   // of a node
    uint32_t batch_multiple; // chunks are multiples of this, the last one excepted; at least 1
    uint32_t max_group;      // jobs in one evaluate; at least 1
    uint32_t reserved;
} hox_runtime_caps;

// Bytes of the device's memory.
typedef struct hox_memory {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t total_bytes;  // 0 = unknown
    uint64_t free_bytes;   // by the driver, for whoever asks first
    uint64_t cached_bytes; // held by the runtime's pool and used by nobody; trim gives them back
    uint64_t in_use_bytes; // of the runtime's pool, by somebody; 0 where there is no pool, as below
    uint64_t peak_bytes;   // most in use at once so far
} hox_memory;

// What a runner for inference takes: fixed_bytes + capacity * bytes_per_sample.
typedef struct hox_estimate {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t fixed_bytes;
    uint64_t bytes_per_sample;
} hox_estimate;

typedef struct hox_prepare_options {
    uint32_t struct_size;
    uint32_t capacity;  // most images in one job
    uint32_t precision; // one HOX_PRECISION_*
    uint32_t purpose;   // HOX_PURPOSE_*
} hox_prepare_options;

// One genome over a range of one split's images.
typedef struct hox_job {
    uint32_t struct_size;
    hox_status status; // out
    hox_runner *runner;
    const hox_weights *weights;
    const hox_samples *samples;
    uint64_t first;   // image index in samples
    uint64_t count;   // 1 .. the runner's capacity
    float *logits;    // out: count values
    hox_error *error; // may be NULL
} hox_job;

typedef struct hox_runtime_api {
    uint32_t struct_size;
    uint32_t reserved;

    // Devices of a kind that are not to be had are no failure: they are not counted, and why is
    // said in the log, one line a kind, level INFO. [main]
    hox_status (*device_count)(const hox_host *host, uint32_t *count, hox_error *error);
    hox_status (*device_info)(const hox_host *host, uint32_t device, hox_device_info *info,
                              hox_error *error);

    // options: the filled struct of the plugin's fields, NULL without fields; lives until close.
    // [main]
    hox_status (*open)(const hox_host *host, uint32_t device, uint32_t lane_count,
                       const void *options, hox_runtime **runtime, hox_error *error);
    void (*close)(hox_runtime *runtime);

    void (*caps)(const hox_runtime *runtime, hox_runtime_caps *caps); // [any]

    // UNSUPPORTED names the node or edge, also in error->plan_node or plan_edge. [any]
    hox_status (*check_plan)(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                             hox_error *error);

    // Room for count images of c x h x w. write takes n images, fp32 (n,C,H,W), to positions first
    // .. Never changed while a lane reads; shared by all lanes. Errors: out of memory. [main]
    hox_status (*samples_create)(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                 uint32_t height, uint32_t width, hox_samples **samples,
                                 hox_error *error);
    hox_status (*samples_write)(hox_samples *samples, uint64_t first, uint64_t count,
                                const float *images, hox_error *error);
    void (*samples_destroy)(hox_samples *samples);

    // A runner belongs to its lane and knows the structure only. Errors: out of memory,
    // UNSUPPORTED. [lane]
    hox_status (*prepare)(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                          const hox_prepare_options *options, hox_runner **runner,
                          hox_error *error);
    void (*release)(hox_runner *runner);

    // Runs job_count jobs, at most max_group, all over the same images: samples, first and count
    // are equal. A runner may stand in several (the same structure, other weights). Synchronous.
    // OK: each job's status counts; not OK: no output counts. [lane]
    hox_status (*evaluate)(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                           uint32_t job_count, hox_error *error);

    // (optional) For the CPU the host asks the system for total and free, whatever this answers.
    // Without it the host goes by device_info and ledger for others. Errors: OUT_OF_DEVICE_MEMORY,
    // DEVICE, DEVICE_LOST; all but the last mean "unknown just now". [any]
    hox_status (*memory)(const hox_runtime *runtime, hox_memory *memory, hox_error *error);

    // (optional) Gives back cached bytes, at least so many where there are; returns their number.
    // Without it the runtime caches nothing. [any]
    uint64_t (*trim)(hox_runtime *runtime, uint64_t bytes);

    // (optional) Without it a runner is taken to hold all maps of its images: 0 and the plan's
    // bytes_per_sample. [any]
    hox_status (*estimate)(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                           hox_estimate *estimate, hox_error *error);

    // (optional, both with HOX_RUNTIME_TRAINS) For runners prepared to TRAIN, in fp32.
    //
    // Logits of the images at indices, which may come in any order and more than once; keeps what
    // backward needs in the runner. count: 1 .. the runner's capacity. weights and samples live
    // until backward has returned; hashes of values may be NULL. Errors: INVALID_ARGUMENT. [lane]
    hox_status (*train_forward)(hox_runner *runner, const hox_weights *weights,
                                const hox_samples *samples, const uint64_t *indices, uint64_t count,
                                float *logits, hox_error *error);
    // Backpropagation (Rumelhart, Hinton and Williams, Nature 323, 1986) from dlogits, the
    // derivatives of the loss by the count logits of the forward before: adds the derivative by
    // each weight to gradient, laid out as the weights are. The images of each 16 in a row are
    // summed, and these sums added one after the other, so the bits do not depend on where a batch
    // is cut at multiples of 16. At a kink the derivative is that of the left side; a median's
    // goes to the lowest index that holds it. [lane]
    hox_status (*train_backward)(hox_runner *runner, const float *dlogits, float *gradient,
                                 hox_error *error);
} hox_runtime_api;
