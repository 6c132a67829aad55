#include "experiment/scoring.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

hox_status scoring_init(scoring *s, size_t population_size, hox_error *error) {
    *s = (scoring){.results = array_create(population_size, sizeof *s->results, error),
                   .ids = array_create(population_size, sizeof *s->ids, error),
                   .old_results = array_create(population_size, sizeof *s->old_results, error),
                   .old_ids = array_create(population_size, sizeof *s->old_ids, error),
                   .count = population_size};
    if (s->results && s->ids && s->old_results && s->old_ids) return HOX_OK;
    scoring_deinit(s);
    return HOX_OUT_OF_HOST_MEMORY;
}

void scoring_deinit(scoring *s) {
    free(s->results);
    free(s->ids);
    free(s->old_results);
    free(s->old_ids);
    *s = (scoring){0};
}

// An individual by what it computes. Equal contents are neighbours once sorted, the lowest slot
// first.
typedef struct entry {
    hash128 content;
    size_t slot;
} entry;

static int by_content(const void *a, const void *b) {
    const entry *left = a, *right = b;
    const int order = memcmp(&left->content, &right->content, sizeof left->content);
    if (order != 0) return order;
    return left->slot < right->slot ? -1 : left->slot > right->slot;
}

static bool is_same(const entry *a, const entry *b) {
    return memcmp(&a->content, &b->content, sizeof a->content) == 0;
}

static const evaluation_result *find_old(const scoring *s, uint64_t id) {
    for (size_t i = 0; i < s->count; i++)
        if (s->old_ids[i] == id) return &s->old_results[i];
    return NULL;
}

// Genomes to evaluate, and the entries (of one content) that each stands for.
typedef struct work {
    entry *entries;
    const genome **genomes;
    size_t *first_entry; // per genome
    evaluation_result *results;
    size_t genome_count;
} work;

static void work_deinit(work *w) {
    free(w->entries);
    free(w->genomes);
    free(w->first_entry);
    free(w->results);
}

static hox_status work_init(work *w, size_t count, hox_error *error) {
    *w = (work){.entries = array_create(count, sizeof *w->entries, error),
                .genomes = array_create(count, sizeof *w->genomes, error),
                .first_entry = array_create(count, sizeof *w->first_entry, error),
                .results = array_create(count, sizeof *w->results, error)};
    return w->entries && w->genomes && w->first_entry && w->results ? HOX_OK
                                                                    : HOX_OUT_OF_HOST_MEMORY;
}

// Ends of the run of equal contents that begins at first.
static size_t end_of_twins(const work *w, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && is_same(&w->entries[first], &w->entries[end]))
        end++;
    return end;
}

static void give(scoring *s, const work *w, size_t first, size_t end,
                 const evaluation_result *result) {
    for (size_t i = first; i < end; i++)
        s->results[w->entries[i].slot] = *result;
}

// Hands out what an elite among the twins has brought along, else queues one of them. Whether an
// elite's old result is at hand (it is not after a resumption) must not show, so the count goes by
// elites.
static void place_twins(scoring *s, work *w, const population *p, size_t first, size_t end) {
    const evaluation_result *known = NULL;
    bool has_elite = false;
    for (size_t i = first; i < end; i++) {
        const individual *one = &p->items[w->entries[i].slot];
        if (!one->is_elite) continue;
        has_elite = true;
        if (!known) known = find_old(s, one->genome->id);
    }
    s->evaluation_count += !has_elite;
    if (known) {
        give(s, w, first, end, known);
    } else {
        w->first_entry[w->genome_count] = first;
        w->genomes[w->genome_count++] = p->items[w->entries[first].slot].genome;
    }
}

static hox_status score_distinct(scoring *s, session *opened, const population *p, work *w,
                                 hox_error *error) {
    for (size_t i = 0; i < p->count; i++)
        w->entries[i] = (entry){genome_content_hash(p->items[i].genome), i};
    qsort(w->entries, p->count, sizeof *w->entries, by_content);
    for (size_t first = 0, end; first < p->count; first = end) {
        end = end_of_twins(w, p->count, first);
        place_twins(s, w, p, first, end);
    }
    HOX_TRY(session_score(opened, SPLIT_SELECT, w->genomes, w->genome_count, w->results, error));
    for (size_t g = 0; g < w->genome_count; g++)
        give(s, w, w->first_entry[g], end_of_twins(w, p->count, w->first_entry[g]), &w->results[g]);
    return HOX_OK;
}

static hox_status score_all(scoring *s, session *opened, const population *p, work *w,
                            hox_error *error) {
    for (size_t i = 0; i < p->count; i++)
        w->genomes[i] = p->items[i].genome;
    s->evaluation_count += p->count;
    return session_score(opened, SPLIT_SELECT, w->genomes, p->count, s->results, error);
}

static void keep_old(scoring *s) {
    evaluation_result *results = s->old_results;
    uint64_t *ids = s->old_ids;
    s->old_results = s->results;
    s->old_ids = s->ids;
    s->results = results;
    s->ids = ids;
}

hox_status scoring_run(scoring *s, session *opened, const population *p, hox_error *error) {
    work w;
    const uint64_t count_before = s->evaluation_count;
    keep_old(s);
    for (size_t i = 0; i < p->count; i++)
        s->ids[i] = p->items[i].genome->id;
    hox_status status = work_init(&w, p->count, error);
    if (status == HOX_OK)
        status = session_is_deterministic(opened) ? score_distinct(s, opened, p, &w, error)
                                                  : score_all(s, opened, p, &w, error);
    work_deinit(&w);
    if (status != HOX_OK) s->evaluation_count = count_before;
    return status;
}

void scoring_replace(scoring *s, size_t slot, uint64_t id, const evaluation_result *result) {
    s->ids[slot] = id;
    s->results[slot] = *result;
}
