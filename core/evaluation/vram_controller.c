#include "evaluation/vram_controller.h"

#include <math.h>

enum { MOST_RETRIES = 4 };

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static int64_t to_signed(uint64_t bytes) {
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

vram_controller vram_controller_make(const vram_settings *settings) {
    return (vram_controller){.settings = *settings,
                             .state = {.batch = settings->batch_most,
                                       .ceiling = settings->batch_most,
                                       .wait = settings->recovery_generations}};
}

void vram_controller_restore(vram_controller *c, const vram_state *state) {
    const uint64_t most = c->settings.batch_most;
    c->state = *state;
    c->state.batch = larger(1, smaller(state->batch, most));
    c->state.ceiling = larger(1, smaller(state->ceiling, most));
    c->state.wait = larger(state->wait, c->settings.recovery_generations);
}

// ---- the formula ----

// floor(fraction * bytes)
static int64_t fraction_of(double fraction, uint64_t bytes) {
    const double part = floor(fraction * (double)bytes);
    return part >= 0x1p63 ? INT64_MAX : (int64_t)part;
}

int64_t vram_share(const vram_settings *s, const vram_reading *reading, uint32_t lane_count) {
    int64_t bytes = fraction_of(s->fraction, reading->free) - to_signed(s->reserve_bytes);
    if (s->threshold > 0.0 && reading->total > 0) {
        const int64_t below = fraction_of(s->threshold, reading->total) - to_signed(reading->used);
        if (below < bytes) bytes = below;
    }
    return bytes / lane_count;
}

// min(B_cap, max(B_min, floor(numerator / M_sample))), B_cap lowered to the ceiling.
// numerator: not negative, so that it never wraps.
static uint64_t batch_of(const vram_controller *c, uint64_t numerator, uint64_t per_sample) {
    uint64_t quotient = 0;
    if (numerator > 0) quotient = per_sample > 0 ? numerator / per_sample : UINT64_MAX;
    return smaller(c->state.ceiling, larger(c->settings.batch_least, quotient));
}

// ---- decisions ----

static vram_decision start_decision(const vram_controller *c) {
    return (vram_decision){.before = c->state.batch, .after = c->state.batch};
}

static void warn_once(vram_controller *c, vram_decision *d, uint32_t warning) {
    d->warnings |= warning & ~c->warned;
    c->warned |= warning;
}

static void take_reading(vram_controller *c, vram_decision *d, const vram_reading *reading) {
    d->reading = *reading;
    if (reading->total == 0) {
        if (c->settings.threshold > 0.0) warn_once(c, d, VRAM_WARN_UNKNOWN_TOTAL);
    } else if (reading->free > reading->total) {
        warn_once(c, d, VRAM_WARN_FREE_CLAMPED);
        d->reading.free = reading->total;
    }
}

static void shrink(vram_controller *c, vram_decision *d, uint64_t batch, vram_reason reason) {
    vram_state *s = &c->state;
    d->reason = reason;
    d->after = s->batch = s->ceiling = batch;
    if (s->is_on_probation && s->wait <= UINT32_MAX) s->wait *= 2;
    s->is_on_probation = false;
}

vram_decision vram_before_generation(vram_controller *c, const vram_reading *reading,
                                     const vram_demand *demand) {
    vram_decision d = start_decision(c);
    take_reading(c, &d, reading);
    if (!c->settings.is_adaptive) return d;
    const int64_t share = vram_share(&c->settings, &d.reading, demand->lane_count);
    const int64_t fixed = to_signed(demand->fixed);
    const int64_t numerator = share > fixed ? share - fixed : 0;
    if (numerator == 0) warn_once(c, &d, VRAM_WARN_NOTHING_LEFT);
    d.after = c->state.batch = batch_of(c, (uint64_t)numerator, demand->per_sample);
    if (d.after != d.before) d.reason = VRAM_FORMULA;
    return d;
}

// Clean generations raise the ceiling.
static void recover(vram_controller *c, vram_decision *d) {
    vram_state *s = &c->state;
    const uint64_t most = c->settings.batch_most;
    if (!c->settings.is_adaptive || c->settings.recovery_generations == 0) return;
    if (++s->clean_generations < s->wait) return;
    s->is_on_probation = s->ceiling < most;
    s->clean_generations = 0;
    if (!s->is_on_probation) return;
    s->ceiling = s->ceiling > most / 2 ? most : 2 * s->ceiling;
    d->reason = VRAM_RECOVERED;
}

vram_decision vram_after_generation(vram_controller *c, const vram_reading *reading,
                                    uint64_t largest) {
    vram_decision d = start_decision(c);
    take_reading(c, &d, reading);
    const uint64_t given = largest > 0 ? smaller(largest, c->state.batch) : c->state.batch;
    const bool is_over = c->settings.threshold > 0.0 && d.reading.total > 0 &&
                         (double)d.reading.used / (double)d.reading.total > c->settings.threshold;
    if (is_over && given > c->settings.lower_bound)
        shrink(c, &d, larger(c->settings.lower_bound, given / 2), VRAM_THRESHOLD);
    if (is_over || c->had_trouble)
        c->state.clean_generations = 0;
    else
        recover(c, &d);
    c->had_trouble = false;
    return d;
}

vram_decision vram_out_of_memory(vram_controller *c, vram_ladder *ladder, uint64_t tried,
                                 bool fits) {
    vram_decision d = start_decision(c);
    const uint64_t bound = c->settings.lower_bound;
    d.reason = VRAM_RETRY;
    if (fits && ladder->same_batch != tried) { // not counted; but once, or it might never end
        ladder->same_batch = tried;
        return d;
    }
    c->had_trouble = true;
    if (ladder->retries == MOST_RETRIES || (tried <= bound && ladder->was_at_bound)) {
        d.reason = VRAM_SET_ASIDE;
        return d;
    }
    ladder->retries++;
    ladder->was_at_bound = tried <= bound;
    const uint64_t half = larger(bound, tried / 2);
    if (tried > bound && half < c->state.batch) shrink(c, &d, half, VRAM_SHRUNK);
    return d;
}
