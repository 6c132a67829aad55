#include "evolution/lineage.h"

const char *const lineage_names[LINEAGE_COUNT] = {
    "copy",        "add_edge", "add_node",   "remove_edge", "remove_node", "toggle_edge",
    "resize_node", "channels", "activation", "weights",     "crossover"};

void lineage_rows_of(const individual *one, bool rows[LINEAGE_COUNT]) {
    const bool is_born = !one->is_elite && one->genome->parent_ids[0] != 0;
    for (uint32_t i = 0; i < LINEAGE_COUNT; i++)
        rows[i] = false;
    if (!is_born) return;
    rows[LINEAGE_WEIGHTS] = one->birth.has_new_weights;
    rows[LINEAGE_CROSSOVER] = one->is_crossover;
    if (one->birth.has_new_structure) rows[one->birth.change] = true;
    rows[MUTATION_NONE] =
        !one->birth.has_new_weights && !one->is_crossover && !one->birth.has_new_structure;
}

static void add(lineage *l, const individual *one, size_t counter_offset) {
    bool rows[LINEAGE_COUNT];
    lineage_rows_of(one, rows);
    for (uint32_t i = 0; i < LINEAGE_COUNT; i++)
        if (rows[i]) ++*(uint64_t *)((char *)&l->rows[i] + counter_offset);
}

void lineage_note_children(lineage *l, const population *p) {
    for (size_t i = 0; i < p->count; i++)
        add(l, &p->items[i], offsetof(lineage_row, children));
}

void lineage_note_survivors(lineage *l, const population *p) {
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].is_parent) add(l, &p->items[i], offsetof(lineage_row, survived));
}

void lineage_note_best(lineage *l, const individual *one) {
    add(l, one, offsetof(lineage_row, best));
}
