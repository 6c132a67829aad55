#include "cpu/trainer.h"

#include "cpu/block_runtime.h"
#include "cpu/float_mode.h"
#include "cpu/readout.h"
#include "runtime/limits.h"
#include "runtime/memory.h"

#include <string.h>

// What stands on both sides of an edge when derivatives pass it.
typedef struct trainer_edge {
    uint32_t target; // node
    cpu_node spread; // derivatives by the target, as far apart as the stride; size 0 at stride 1
    size_t spread_place; // floats, in values
    size_t turned;       // place of the turned kernel among the turned ones
} trainer_edge;

typedef struct trainer_node {
    uint32_t activation;
    size_t map, slopes;   // floats into what is kept of a block
    cpu_node derivatives; // layout of those by this node; its edges lead to its readers
    size_t place;         // of that map, in values
} trainer_node;

struct cpu_trainer {
    const hox_host *host;
    size_t bytes;         // of this block: the struct, its arrays and the program
    cpu_program *program; // the forward pass; its nodes compute sums, activations come after
    trainer_node *nodes;
    trainer_edge *edges;
    cpu_edge *readers;  // turned edges, by source
    const float **maps; // where an edge finds what it reads: nodes, then edges that spread
    size_t capacity;    // blocks
    size_t kept_size;   // floats kept of a block
    size_t output_size; // of an image

    float *values; // one block of its own
    size_t value_count;
    float *kept;          // [block][kept_size]
    float *turned;        // kernels
    float *scratch;       // 3 output maps of an image
    const float *weights; // of the forward before
    uint64_t count;       // images of the forward before
};

// ---- layout ----

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static uint32_t above(uint32_t a, uint32_t b) {
    return a > b ? a - b : 0;
}

// Zeros that reading the derivatives the other way round meets before and after them.
static uint32_t margin(uint32_t kernel, uint32_t padding, uint32_t source, uint32_t target) {
    return larger(above(kernel - 1, padding), above(source - 1 + padding, target - 1));
}

static int is_spread(const cpu_edge *edge) {
    return edge->stride_h > 1 || edge->stride_w > 1;
}

// What the turned edge reads: the derivatives by its target, spread where the edge has a stride.
static cpu_node *derivatives_read(cpu_trainer *t, uint32_t e) {
    trainer_edge *own = &t->edges[e];
    return is_spread(&t->program->edges[e]) ? &own->spread : &t->nodes[own->target].derivatives;
}

// The image wants no derivatives, so what leads from it is not turned.
static void describe_edge(cpu_trainer *t, uint32_t e, uint32_t target) {
    const cpu_edge *edge = &t->program->edges[e];
    const cpu_node *source = &t->program->nodes[edge->source];
    trainer_edge *own = &t->edges[e];
    *own = (trainer_edge){.target = target};
    if (edge->source == 0) return;
    const cpu_node *of = &t->program->nodes[target];
    if (is_spread(edge)) own->spread = (cpu_node){.channels = of->channels};
    cpu_node *read = derivatives_read(t, e);
    read->height = (of->height - 1) * edge->stride_h + 1;
    read->width = (of->width - 1) * edge->stride_w + 1;
    read->margin_h = larger(read->margin_h, margin(edge->kernel_h, (uint32_t)edge->padding_h,
                                                   source->height, read->height));
    read->margin_w = larger(read->margin_w, margin(edge->kernel_w, (uint32_t)edge->padding_w,
                                                   source->width, read->width));
    if (is_spread(edge)) cpu_lay_out(read);
}

static void describe_node(cpu_trainer *t, uint32_t i) {
    cpu_node *node = &t->program->nodes[i];
    t->nodes[i] = (trainer_node){.activation = node->activation, .derivatives = *node};
    cpu_node *derivatives = &t->nodes[i].derivatives;
    derivatives->margin_h = derivatives->margin_w = 0;
    derivatives->edge_count = 0;
    derivatives->activation = node->activation = HOX_ACTIVATION_IDENTITY;
}

// The turned edge: it reads the derivatives by its target.
static void turn_edge(cpu_trainer *t, uint32_t e, cpu_edge *reader) {
    const cpu_edge *edge = &t->program->edges[e];
    const trainer_edge *own = &t->edges[e];
    const cpu_node *from = derivatives_read(t, e);
    const int32_t padding_h = (int32_t)edge->kernel_h - 1 - edge->padding_h;
    const int32_t padding_w = (int32_t)edge->kernel_w - 1 - edge->padding_w;
    *reader = (cpu_edge){
        .source = is_spread(edge) ? t->program->node_count + e : own->target,
        .channels = from->channels,
        .kernel_h = edge->kernel_h,
        .kernel_w = edge->kernel_w,
        .stride_h = 1,
        .stride_w = 1,
        .height = from->height,
        .width = from->width,
        .padding_h = padding_h,
        .padding_w = padding_w,
        .offset = (size_t)((ptrdiff_t)from->offset - padding_h * (ptrdiff_t)from->row -
                           (ptrdiff_t)padding_w * CPU_BLOCK),
        .row = from->row,
        .plane = from->plane,
        .weights = own->turned,
    };
}

static size_t kernel_size(const cpu_trainer *t, uint32_t e) {
    const cpu_edge *edge = &t->program->edges[e];
    return (size_t)t->program->nodes[t->edges[e].target].channels * edge->channels *
           edge->kernel_h * edge->kernel_w;
}

// Readers of a node, in the order of edges; the image has none that matter.
static void collect_readers(cpu_trainer *t) {
    cpu_edge *next = t->readers;
    for (uint32_t i = 1; i < t->program->node_count; i++) {
        cpu_node *derivatives = &t->nodes[i].derivatives;
        derivatives->edges = next;
        for (uint32_t e = 0; e < t->program->edge_count; e++)
            if (t->program->edges[e].source == i) turn_edge(t, e, next++);
        derivatives->edge_count = (uint32_t)(next - derivatives->edges);
    }
}

// ---- places ----

static size_t take(size_t *end, size_t size) {
    const size_t place = *end;
    *end = size_plus(place, size);
    return place;
}

static size_t dense_size(const cpu_node *n) {
    return (size_t)n->channels * n->height * n->width * CPU_BLOCK;
}

static void place_kept(cpu_trainer *t) {
    size_t end = 0;
    for (uint32_t i = 0; i < t->program->node_count; i++) {
        trainer_node *n = &t->nodes[i];
        n->map = take(&end, t->program->nodes[i].size);
        if (n->activation != HOX_ACTIVATION_IDENTITY)
            n->slopes = take(&end, dense_size(&t->program->nodes[i]));
    }
    t->kept_size = end;
}

// All but what is kept; returns the floats, of which the turned kernels are the last.
static size_t place_values(cpu_trainer *t, size_t *turned_place) {
    size_t end = 0, turned = 0;
    for (uint32_t i = 1; i < t->program->node_count; i++) {
        cpu_lay_out(&t->nodes[i].derivatives);
        t->nodes[i].place = take(&end, t->nodes[i].derivatives.size);
    }
    for (uint32_t e = 0; e < t->program->edge_count; e++) {
        t->edges[e].spread_place = take(&end, t->edges[e].spread.size);
        if (t->program->edges[e].source > 0)
            t->edges[e].turned = take(&turned, kernel_size(t, e) + t->program->edges[e].channels);
    }
    *turned_place = end;
    return size_plus(end, (turned + CPU_BLOCK - 1) / CPU_BLOCK * CPU_BLOCK);
}

static size_t struct_bytes(const hox_plan *plan) {
    const size_t nodes = plan->node_count, edges = plan->edge_count;
    return sizeof(cpu_trainer) + nodes * (sizeof(trainer_node) + sizeof(float *)) +
           edges * (sizeof(trainer_edge) + sizeof(cpu_edge) + sizeof(float *));
}

static void fill(cpu_trainer *t, const hox_plan *plan) {
    t->nodes = (trainer_node *)(t + 1);
    t->edges = (trainer_edge *)(t->nodes + plan->node_count);
    t->readers = (cpu_edge *)(t->edges + plan->edge_count);
    t->maps = (const float **)(t->readers + plan->edge_count);
    t->program = cpu_program_make((char *)t + struct_bytes(plan), plan);
    for (uint32_t i = 0; i < plan->node_count; i++)
        describe_node(t, i);
    for (uint32_t i = 1; i < plan->node_count; i++)
        for (uint32_t e = plan->node_edge_begin[i]; e < plan->node_edge_begin[i + 1]; e++)
            describe_edge(t, e, i);
    t->output_size = dense_size(&t->program->nodes[plan->node_count - 1]) / CPU_BLOCK;
    place_kept(t);
}

// Everything is 0 at first, and margins stay so.
static hox_status take_values(cpu_trainer *t, hox_error *error) {
    size_t turned_place;
    const size_t values = place_values(t, &turned_place);
    collect_readers(t);
    t->value_count = size_plus(size_plus(values, size_times(3, t->output_size)),
                               size_times(t->capacity, t->kept_size));
    void *block;
    HOX_TRY(block_take(t->host, size_times(t->value_count, sizeof(float)), &block, error));
    t->values = block;
    memset(t->values, 0, t->value_count * sizeof *t->values);
    t->kept = t->values + values;
    t->scratch = t->kept + t->capacity * t->kept_size;
    for (uint32_t i = 1; i < t->program->node_count; i++)
        t->maps[i] = t->values + t->nodes[i].place;
    for (uint32_t e = 0; e < t->program->edge_count; e++)
        t->maps[t->program->node_count + e] = t->values + t->edges[e].spread_place;
    t->turned = t->values + turned_place;
    return HOX_OK;
}

hox_status cpu_trainer_create(const hox_host *host, const hox_plan *plan, uint32_t capacity,
                              cpu_trainer **trainer, hox_error *error) {
    *trainer = NULL;
    const size_t bytes = size_plus(struct_bytes(plan), cpu_program_bytes(plan));
    void *block;
    HOX_TRY(block_take(host, bytes, &block, error));
    cpu_trainer *t = block;
    memset(t, 0, bytes);
    *t = (cpu_trainer){
        .host = host, .bytes = bytes, .capacity = ((size_t)capacity + CPU_BLOCK - 1) / CPU_BLOCK};
    fill(t, plan);
    const hox_status status = take_values(t, error);
    if (status == HOX_OK)
        *trainer = t;
    else
        block_return(host, t, bytes);
    return status;
}

void cpu_trainer_destroy(cpu_trainer *t) {
    if (!t) return;
    block_return(t->host, t->values, t->value_count * sizeof *t->values);
    block_return(t->host, t, t->bytes);
}

// ---- forward ----

// Up to 16 images side by side. In place of those that are not there the first one is repeated: its
// derivatives will be 0, and it brings no number that is not finite but its own.
static void gather(const cpu_node *input, const hox_samples *samples, const uint64_t *indices,
                   size_t count, float *map) {
    const float *from[CPU_BLOCK];
    for (size_t i = 0; i < CPU_BLOCK; i++) {
        const uint64_t index = indices[i < count ? i : 0];
        from[i] = cpu_samples_block(samples, index / CPU_BLOCK) + index % CPU_BLOCK;
    }
    size_t pixel = 0;
    for (uint32_t c = 0; c < input->channels; c++)
        for (uint32_t y = 0; y < input->height; y++) {
            float *row = map + input->offset + c * input->plane + y * input->row;
            for (uint32_t x = 0; x < input->width; x++, row += CPU_BLOCK, pixel += CPU_BLOCK)
                for (size_t i = 0; i < CPU_BLOCK; i++)
                    row[i] = from[i][pixel];
        }
}

static void run_forward(cpu_trainer *t, const cpu_kernels *kernels, float *kept) {
    const cpu_program *p = t->program;
    for (uint32_t i = 0; i < p->node_count; i++)
        p->maps[i] = kept + t->nodes[i].map;
    for (uint32_t i = 1; i < p->node_count; i++) {
        const trainer_node *n = &t->nodes[i];
        kernels->compute(&p->nodes[i], t->weights, p->maps, kept + n->map);
        if (n->activation != HOX_ACTIVATION_IDENTITY)
            kernels->differentiate(&p->nodes[i], n->activation, kept + n->map, kept + n->slopes);
    }
}

static size_t block_images(const cpu_trainer *t, uint64_t first) {
    return t->count - first < CPU_BLOCK ? (size_t)(t->count - first) : CPU_BLOCK;
}

void cpu_trainer_forward(cpu_trainer *t, const cpu_kernels *kernels, const float *weights,
                         const hox_samples *samples, const uint64_t *indices, uint64_t count,
                         float *logits) {
    const cpu_program *p = t->program;
    const cpu_node *output = &p->nodes[p->node_count - 1];
    t->weights = weights;
    t->count = count;
    const uint32_t mode = float_mode_flush();
    for (uint64_t first = 0; first < count; first += CPU_BLOCK) {
        float *kept = t->kept + first / CPU_BLOCK * t->kept_size, own[CPU_BLOCK];
        gather(&p->nodes[0], samples, indices + first, block_images(t, first), kept);
        run_forward(t, kernels, kept);
        cpu_block_read_out(p->readout, output, p->maps[p->node_count - 1], t->scratch, own);
        memcpy(logits + first, own, block_images(t, first) * sizeof *own);
    }
    float_mode_restore(mode);
}

// ---- backward ----

// [Cout][Cin][kh][kw] to [Cin][Cout], rows and columns from the end; behind each stand no biases.
static void turn_kernel(const cpu_trainer *t, uint32_t e) {
    const cpu_edge *edge = &t->program->edges[e];
    const uint32_t targets = t->program->nodes[t->edges[e].target].channels;
    const size_t taps = (size_t)edge->kernel_h * edge->kernel_w;
    const float *from = t->weights + edge->weights;
    float *to = t->turned + t->edges[e].turned;
    for (uint32_t ci = 0; ci < edge->channels; ci++)
        for (uint32_t co = 0; co < targets; co++, to += taps)
            for (size_t i = 0; i < taps; i++)
                to[i] = from[((size_t)co * edge->channels + ci) * taps + taps - 1 - i];
}

static float *derivative_row(const cpu_trainer *t, uint32_t i, uint32_t c, uint32_t y) {
    const cpu_node *d = &t->nodes[i].derivatives;
    return t->values + t->nodes[i].place + d->offset + c * d->plane + y * d->row;
}

// The derivatives by the output's map; those of images that are not there are 0.
static void start_backward(const cpu_trainer *t, const float *kept, const float *dlogits,
                           size_t count) {
    const uint32_t last = t->program->node_count - 1;
    const cpu_node *d = &t->nodes[last].derivatives;
    const float *map = kept + t->nodes[last].map;
    float *image = t->scratch, *derivatives = image + t->output_size,
          *sorted = derivatives + t->output_size;
    for (size_t i = 0; i < CPU_BLOCK; i++) {
        for (size_t k = 0; k < t->output_size; k++) // an output has no reader, so no margin
            image[k] = map[k * CPU_BLOCK + i];
        readout_gradient(t->program->readout, image, t->output_size, i < count ? dlogits[i] : 0.0F,
                         derivatives, sorted);
        const float *next = derivatives;
        for (uint32_t c = 0; c < d->channels; c++)
            for (uint32_t y = 0; y < d->height; y++)
                for (uint32_t x = 0; x < d->width; x++)
                    derivative_row(t, last, c, y)[(size_t)x * CPU_BLOCK + i] = *next++;
    }
}

// Through the activation, in place; and their sum for each channel is what a bias gets. Rows are
// summed by themselves first: one long sum would round too often.
static void pass_activation(const cpu_trainer *t, uint32_t i, const float *kept,
                            float sums[LIMIT_CHANNELS]) {
    const trainer_node *n = &t->nodes[i];
    const cpu_node *d = &n->derivatives;
    const float *slopes = n->activation == HOX_ACTIVATION_IDENTITY ? NULL : kept + n->slopes;
    const size_t width = (size_t)d->width * CPU_BLOCK;
    for (uint32_t c = 0; c < d->channels; c++) {
        sums[c] = 0.0F;
        for (uint32_t y = 0; y < d->height; y++) {
            float *row = derivative_row(t, i, c, y), sum[CPU_BLOCK] = {0}, of_row = 0.0F;
            for (size_t x = 0; slopes && x < width; x++)
                row[x] *= slopes[x];
            for (size_t x = 0; x < width; x += CPU_BLOCK)
                for (size_t k = 0; k < CPU_BLOCK; k++)
                    sum[k] += row[x + k];
            for (size_t k = 0; k < CPU_BLOCK; k++)
                of_row += sum[k];
            sums[c] += of_row;
            if (slopes) slopes += width;
        }
    }
}

// The derivatives by an edge's target, a stride apart.
static void spread(const cpu_trainer *t, uint32_t e) {
    const cpu_edge *edge = &t->program->edges[e];
    const trainer_edge *own = &t->edges[e];
    const cpu_node *from = &t->nodes[own->target].derivatives, *to = &own->spread;
    const float *map = t->values + t->nodes[own->target].place;
    float *target = t->values + own->spread_place;
    for (uint32_t c = 0; c < from->channels; c++)
        for (uint32_t y = 0; y < from->height; y++)
            for (uint32_t x = 0; x < from->width; x++)
                memcpy(target + to->offset + c * to->plane + y * edge->stride_h * to->row +
                           (size_t)x * edge->stride_w * CPU_BLOCK,
                       map + from->offset + c * from->plane + y * from->row + (size_t)x * CPU_BLOCK,
                       CPU_BLOCK * sizeof *map);
}

static void pass_edges(const cpu_trainer *t, const cpu_kernels *kernels, uint32_t i,
                       const float *kept, const float *sums, float *gradient) {
    const cpu_program *p = t->program;
    const cpu_node *node = &p->nodes[i];
    for (const cpu_edge *edge = node->edges; edge < node->edges + node->edge_count; edge++) {
        const uint32_t e = (uint32_t)(edge - p->edges);
        kernels->gradient(edge, kept + t->nodes[edge->source].map, &t->nodes[i].derivatives,
                          t->values + t->nodes[i].place, gradient + edge->weights);
        float *biases = gradient + edge->weights + kernel_size(t, e);
        for (uint32_t c = 0; c < node->channels; c++)
            biases[c] += sums[c];
        if (is_spread(edge) && edge->source > 0) spread(t, e);
    }
}

hox_status cpu_trainer_backward(cpu_trainer *t, const cpu_kernels *kernels, const float *dlogits,
                                float *gradient, hox_error *error) {
    if (t->count == 0)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "nothing went forward before");
    const uint32_t mode = float_mode_flush();
    const uint32_t last = t->program->node_count - 1;
    for (uint32_t e = 0; e < t->program->edge_count; e++)
        if (t->program->edges[e].source > 0) turn_kernel(t, e);
    for (uint64_t first = 0; first < t->count; first += CPU_BLOCK) {
        const float *kept = t->kept + first / CPU_BLOCK * t->kept_size;
        float sums[LIMIT_CHANNELS];
        start_backward(t, kept, dlogits + first, block_images(t, first));
        for (uint32_t i = last; i > 0; i--) {
            const trainer_node *n = &t->nodes[i];
            if (i < last)
                kernels->compute(&n->derivatives, t->turned, t->maps, t->values + n->place);
            pass_activation(t, i, kept, sums);
            pass_edges(t, kernels, i, kept, sums, gradient);
        }
    }
    float_mode_restore(mode);
    return HOX_OK;
}
