// test_program.c - a plan made ready for the CPU kernels: layout and margins of the maps, their
// places in the arena, and the block it all lies in.
#include "cpu/program.h"
#include "random_plan.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 1000, GUARD = 64 };

// A program in a block of just its size, with bytes behind that must stay.
typedef struct made_program {
    random_plan made;
    cpu_program *program;
    unsigned char *block;
    size_t bytes;
} made_program;

static void make_program(made_program *self, unsigned char canary) {
    self->bytes = cpu_program_bytes(&self->made.plan);
    self->block = aligned_alloc(64, (self->bytes + 2 * GUARD - 1) / 64 * 64);
    cr_assert_not_null(self->block);
    memset(self->block, canary, self->bytes + GUARD);
    self->program = cpu_program_make(self->block, &self->made.plan);
    for (size_t i = 0; i < GUARD; i++)
        cr_assert_eq(self->block[self->bytes + i], canary, "wrote behind its block");
}

static void make_random_program(made_program *self, uint64_t seed) {
    random_plan_make(&self->made, seed);
    make_program(self, 0xA5);
}

// ---- the block ----

typedef struct piece {
    const void *begin;
    size_t bytes, alignment;
} piece;

static int by_address(const void *a, const void *b) {
    const piece *left = a, *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

Test(program, fills_a_block_of_just_the_size_it_asks_for) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        made_program self;
        make_random_program(&self, seed);
        const cpu_program *p = self.program;
        const size_t nodes = p->node_count, edges = p->edge_count;
        piece pieces[] = {{p, sizeof *p, _Alignof(cpu_program)},
                          {p->places, nodes * sizeof *p->places, _Alignof(size_t)},
                          {p->nodes, nodes * sizeof *p->nodes, _Alignof(cpu_node)},
                          {p->edges, edges * sizeof *p->edges, _Alignof(cpu_edge)},
                          {p->last_use, nodes * sizeof *p->last_use, _Alignof(uint32_t)},
                          {p->maps, nodes * sizeof *p->maps, _Alignof(float *)}};
        enum { PIECES = sizeof pieces / sizeof *pieces };
        qsort(pieces, PIECES, sizeof *pieces, by_address);
        const unsigned char *end = self.block;
        cr_assert_eq(p->bytes, self.bytes, "seed %zu", (size_t)seed);
        cr_assert_eq(pieces[0].begin, (const void *)self.block);
        for (size_t i = 0; i < PIECES; i++) {
            cr_assert_eq((uintptr_t)pieces[i].begin % pieces[i].alignment, 0);
            cr_assert_geq(pieces[i].begin, (const void *)end, "arrays overlap");
            end = (const unsigned char *)pieces[i].begin + pieces[i].bytes;
        }
        cr_assert_eq((size_t)(end - self.block), self.bytes, "seed %zu", (size_t)seed);
        free(self.block);
    }
}

// What it says may not come from what lay in the block before.
Test(program, does_not_read_its_block) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        made_program a, b;
        make_random_program(&a, seed);
        random_plan_make(&b.made, seed);
        make_program(&b, 0xFF);
        const cpu_program *p = a.program, *q = b.program;
        cr_assert_eq(p->arena_size, q->arena_size);
        for (uint32_t i = 0; i < p->node_count; i++) {
            cr_assert_eq(p->nodes[i].margin_h, q->nodes[i].margin_h);
            cr_assert_eq(p->nodes[i].margin_w, q->nodes[i].margin_w);
            cr_assert_eq(p->last_use[i], q->last_use[i]);
            cr_assert_eq(p->places[i], q->places[i]);
        }
        free(a.block);
        free(b.block);
    }
}

// ---- nodes and edges ----

static uint32_t largest_padding(const random_plan *made, uint32_t node, const uint32_t *paddings) {
    uint32_t largest = 0;
    for (uint32_t e = 0; e < made->plan.edge_count; e++)
        if (made->source[e] == node && paddings[e] > largest) largest = paddings[e];
    return largest;
}

static void check_node(const made_program *self, uint32_t i) {
    const random_plan *made = &self->made;
    const cpu_node *n = &self->program->nodes[i];
    cr_assert_eq(n->channels, made->channels[i]);
    cr_assert_eq(n->height, made->height[i]);
    cr_assert_eq(n->width, made->width[i]);
    cr_assert_eq(n->activation, made->activation[i]);
    cr_assert_eq(n->margin_h, largest_padding(made, i, made->padding_h));
    cr_assert_eq(n->margin_w, largest_padding(made, i, made->padding_w));
    const size_t height = n->height + 2 * (size_t)n->margin_h;
    const size_t width = n->width + 2 * (size_t)n->margin_w;
    cr_assert_eq(n->row, width * CPU_BLOCK);
    cr_assert_eq(n->plane, height * width * CPU_BLOCK);
    cr_assert_eq(n->size, n->channels * height * width * CPU_BLOCK);
    cr_assert_eq(n->offset, (n->margin_h * width + n->margin_w) * CPU_BLOCK);
    cr_assert_eq(n->edges, self->program->edges + made->edge_begin[i]);
    cr_assert_eq(n->edge_count, made->edge_begin[i + 1] - made->edge_begin[i]);
}

// Every tap of the corner pixels lies where the definition has it, within the source's map.
static void check_taps(const made_program *self, uint32_t e, uint32_t target) {
    const random_plan *made = &self->made;
    const cpu_edge *edge = &self->program->edges[e];
    const cpu_node *from = &self->program->nodes[made->source[e]];
    const uint32_t last_y = made->height[target] - 1, last_x = made->width[target] - 1;
    for (int corner = 0; corner < 4; corner++) {
        const int64_t y = corner & 1 ? last_y : 0, x = corner & 2 ? last_x : 0;
        for (int64_t ky = 0; ky < made->kernel_h[e]; ky++)
            for (int64_t kx = 0; kx < made->kernel_w[e]; kx++) {
                const int64_t sy = y * made->stride_h[e] + ky - made->padding_h[e];
                const int64_t sx = x * made->stride_w[e] + kx - made->padding_w[e];
                const int64_t right =
                    (int64_t)from->offset + sy * (int64_t)from->row + sx * CPU_BLOCK;
                const int64_t place = (int64_t)edge->offset +
                                      (y * edge->stride_h + ky) * (int64_t)edge->row +
                                      (x * edge->stride_w + kx) * CPU_BLOCK;
                cr_assert_eq(place, right);
                cr_assert_geq(place, 0);
                cr_assert_leq((size_t)place + CPU_BLOCK, edge->plane);
            }
    }
}

static void check_edge(const made_program *self, uint32_t e, uint32_t target) {
    const random_plan *made = &self->made;
    const cpu_edge *edge = &self->program->edges[e];
    const cpu_node *from = &self->program->nodes[made->source[e]];
    cr_assert_eq(edge->source, made->source[e]);
    cr_assert_eq(edge->channels, from->channels);
    cr_assert_eq(edge->kernel_h, made->kernel_h[e]);
    cr_assert_eq(edge->kernel_w, made->kernel_w[e]);
    cr_assert_eq(edge->stride_h, made->stride_h[e]);
    cr_assert_eq(edge->stride_w, made->stride_w[e]);
    cr_assert_eq(edge->height, from->height);
    cr_assert_eq(edge->width, from->width);
    cr_assert_eq(edge->padding_h, (int32_t)made->padding_h[e]);
    cr_assert_eq(edge->padding_w, (int32_t)made->padding_w[e]);
    cr_assert_eq(edge->row, from->row);
    cr_assert_eq(edge->plane, from->plane);
    cr_assert_eq(edge->weights, made->weight_offset[e]);
    check_taps(self, e, target);
}

Test(program, has_margins_of_the_largest_padding_and_nothing_more) {
    size_t margins = 0, copies = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        made_program self;
        make_random_program(&self, seed);
        const cpu_program *p = self.program;
        cr_assert_eq(p->node_count, self.made.plan.node_count);
        cr_assert_eq(p->edge_count, self.made.plan.edge_count);
        cr_assert_eq(p->readout, self.made.plan.readout);
        cr_assert_eq(p->weight_count, self.made.plan.weight_count);
        for (uint32_t i = 0; i < p->node_count; i++) {
            check_node(&self, i);
            margins += p->nodes[i].margin_h > 0 || p->nodes[i].margin_w > 0;
            for (uint32_t e = self.made.edge_begin[i]; e < self.made.edge_begin[i + 1]; e++)
                check_edge(&self, e, i);
        }
        const bool has_margin = p->nodes[0].margin_h > 0 || p->nodes[0].margin_w > 0;
        cr_assert_eq(cpu_program_copies_input(p) != 0, has_margin);
        copies += has_margin;
        free(self.block);
    }
    cr_expect(margins > SEEDS && copies > SEEDS / 4 && copies < SEEDS - 10,
              "%zu margins, %zu copied inputs", margins, copies);
}

// ---- the arena ----

// By the edges themselves: the last node that reads this one.
static uint32_t last_reader(const random_plan *made, uint32_t node) {
    uint32_t last = node;
    for (uint32_t target = node + 1; target < made->plan.node_count; target++)
        for (uint32_t e = made->edge_begin[target]; e < made->edge_begin[target + 1]; e++)
            if (made->source[e] == node) last = target;
    return last;
}

// A map is alive from its own node to the last that reads it; in that node too, beside its target.
static void check_arena(const made_program *self) {
    const cpu_program *p = self->program;
    const uint32_t first = cpu_program_copies_input(p) ? 0 : 1;
    size_t end = 0, all = 0;
    for (uint32_t i = first; i < p->node_count; i++) {
        cr_assert_eq(p->last_use[i], last_reader(&self->made, i));
        cr_assert_eq(p->places[i] % CPU_BLOCK, 0, "off a 64-byte boundary");
        cr_assert_leq(p->places[i] + p->nodes[i].size, p->arena_size);
        if (p->places[i] + p->nodes[i].size > end) end = p->places[i] + p->nodes[i].size;
        all += p->nodes[i].size;
        for (uint32_t k = first; k < i; k++) {
            if (last_reader(&self->made, k) < i) continue;
            cr_assert(p->places[k] + p->nodes[k].size <= p->places[i] ||
                          p->places[i] + p->nodes[i].size <= p->places[k],
                      "maps %u and %u overlap", k, i);
        }
    }
    cr_assert_eq(p->arena_size, end, "the arena is larger than its maps");
    cr_assert_leq(p->arena_size, all);
}

Test(program, never_lets_living_maps_overlap) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        made_program self;
        make_random_program(&self, seed);
        check_arena(&self);
        free(self.block);
    }
}

// input -> a -> b -> c -> output, all of one size: two places in turn, the image outside.
Test(program, uses_a_place_again) {
    made_program self;
    plan_begin(&self.made, HOX_READOUT_SUM);
    plan_add_node(&self.made, 3, 4, 5, HOX_ACTIVATION_IDENTITY);
    for (uint32_t i = 0; i < 4; i++) {
        plan_add_node(&self.made, 3, 4, 5, HOX_ACTIVATION_RELU);
        plan_add_edge(&self.made, i);
    }
    make_program(&self, 0);
    const size_t *places = self.program->places;
    cr_expect_eq(self.program->arena_size, 2 * 3 * 4 * 5 * CPU_BLOCK);
    cr_expect_eq(places[1], places[3]);
    cr_expect_eq(places[2], places[4]);
    cr_expect_neq(places[1], places[2]);
    free(self.block);
}

// ---- margins and copies ----

static const float before = 12345, zero = 0;

static cpu_node node_with_margins(test_random *random) {
    cpu_node n = {.channels = 1 + random_below(random, 4),
                  .height = 1 + random_below(random, 6),
                  .width = 1 + random_below(random, 6),
                  .margin_h = random_below(random, 4),
                  .margin_w = random_below(random, 4)};
    n.row = ((size_t)n.width + 2 * n.margin_w) * CPU_BLOCK;
    n.plane = ((size_t)n.height + 2 * n.margin_h) * n.row;
    n.offset = n.margin_h * n.row + (size_t)n.margin_w * CPU_BLOCK;
    n.size = n.channels * n.plane;
    return n;
}

// Where a float of the map comes from in the plain images; SIZE_MAX = it is of a margin.
static size_t plain_index(const cpu_node *n, size_t i) {
    const size_t width = n->width + 2 * (size_t)n->margin_w;
    const size_t height = n->height + 2 * (size_t)n->margin_h;
    const size_t pixel = i / CPU_BLOCK, channel = pixel / (width * height);
    const size_t y = pixel / width % height, x = pixel % width;
    if (y < n->margin_h || y >= n->margin_h + n->height) return SIZE_MAX;
    if (x < n->margin_w || x >= n->margin_w + n->width) return SIZE_MAX;
    return ((channel * n->height + y - n->margin_h) * n->width + x - n->margin_w) * CPU_BLOCK +
           i % CPU_BLOCK;
}

static float *floats_before(size_t count) {
    float *values = malloc(count * sizeof *values);
    cr_assert_not_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = before;
    return values;
}

// images NULL: what is inside stays.
static void check_map(const cpu_node *n, const float *room, const float *images) {
    for (size_t i = 0; i < n->size + 2 * GUARD; i++) {
        float right = before;
        if (i >= GUARD && i < n->size + GUARD) {
            const size_t plain = plain_index(n, i - GUARD);
            if (plain == SIZE_MAX)
                right = zero;
            else if (images)
                right = images[plain];
        }
        cr_assert_eq(memcmp(&room[i], &right, sizeof right), 0,
                     "%u x %u x %u, margins %u %u: float %td is %g, not %g", n->channels, n->height,
                     n->width, n->margin_h, n->margin_w, (ptrdiff_t)i - GUARD, (double)room[i],
                     (double)right);
    }
}

Test(program, clears_margins_and_nothing_else) {
    test_random random = {1};
    for (int i = 0; i < 400; i++) {
        const cpu_node n = node_with_margins(&random);
        float *room = floats_before(n.size + 2 * GUARD);
        cpu_clear_margins(&n, room + GUARD);
        check_map(&n, room, NULL);
        free(room);
    }
}

Test(program, copies_images_inside_a_margin) {
    test_random random = {2};
    for (int i = 0; i < 400; i++) {
        const cpu_node n = node_with_margins(&random);
        const size_t count = (size_t)n.channels * n.height * n.width * CPU_BLOCK;
        float *room = floats_before(n.size + 2 * GUARD), *images = floats_before(count);
        for (size_t k = 0; k < count; k++)
            images[k] = (float)(k + 1);
        cpu_copy_input(&n, images, room + GUARD);
        check_map(&n, room, images);
        free(images);
        free(room);
    }
}
