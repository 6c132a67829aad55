// test_nearest.c - edits between words, counted by hand, and what is near enough to suggest.
#include "config/nearest.h"

#include <criterion/criterion.h>

static const struct {
    const char *a, *b;
    size_t distance;
} rows[] = {
    {"", "", 0},
    {"", "abc", 3},
    {"seed", "seed", 0},
    {"sed", "seed", 1},                        // insert
    {"seeds", "seed", 1},                      // delete
    {"seid", "seed", 1},                       // replace
    {"sede", "seed", 1},                       // swap
    {"kitten", "sitting", 3},                  // the textbook's
    {"ca", "abc", 3},                          // optimal string alignment: 2 without its rule
    {"popluation_siez", "population_size", 2}, // two swaps
    {"max_generations", "max_wall_seconds", 9},
};

Test(nearest, distance_counts_edits) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect_eq(nearest_distance(rows[i].a, rows[i].b), rows[i].distance, "%s, %s", rows[i].a,
                     rows[i].b);
        cr_expect_eq(nearest_distance(rows[i].b, rows[i].a), rows[i].distance, "%s, %s", rows[i].b,
                     rows[i].a);
    }
}

Test(nearest, cuts_long_words_instead_of_overflowing) {
    char a[1000], b[1000];
    for (size_t i = 0; i < sizeof a; i++) {
        a[i] = 'a';
        b[i] = i < 63 ? 'a' : 'b';
    }
    a[999] = b[999] = 0;
    cr_expect_eq(nearest_distance(a, b), 0);
}

static const char *best_for(const char *word) {
    static const char *const candidates[] = {"population_size", "survival", "seed", "species"};
    nearest search = nearest_start(word);
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        nearest_offer(&search, candidates[i]);
    return search.best;
}

Test(nearest, suggests_the_nearest_if_it_is_near) {
    cr_expect_str_eq(best_for("populationsize"), "population_size");
    cr_expect_str_eq(best_for("survivle"), "survival");
    cr_expect_str_eq(best_for("speed"), "seed");
    cr_expect_str_eq(best_for("specis"), "species");
    cr_expect_null(best_for("learning_rate"));
    cr_expect_null(best_for("momentum"));
}
