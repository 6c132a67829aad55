#include "evaluation/residency.h"

// Room may be made, and what a device fails at may pass.
static bool is_worth_another(hox_status status) {
    return lanes_is_memory(status) || status == HOX_DEVICE;
}

void residency_make_room(residency *r) {
    lanes_release_idle(r->lanes);
    device_memory_trim(&r->lanes->memory);
}

hox_status residency_create_samples(residency *r, const evaluation_split *split, uint64_t count,
                                    hox_samples **samples, hox_error *error) {
    const lanes *l = r->lanes;
    hox_error why = HOX_ERROR_INIT;
    hox_status status = split_create_samples(split, l->api, l->runtime, count, samples, &why);
    if (is_worth_another(status)) {
        residency_make_room(r);
        why = (hox_error)HOX_ERROR_INIT;
        status = split_create_samples(split, l->api, l->runtime, count, samples, &why);
    }
    status = device_memory_verdict(&r->lanes->memory, status);
    return status == HOX_OK ? HOX_OK : hox_error_pass(error, status, &why);
}

hox_status residency_fill(residency *r, const evaluation_split *split, hox_samples *samples,
                          uint64_t first, uint64_t count, hox_error *error) {
    const hox_runtime_api *api = r->lanes->api;
    hox_error why = HOX_ERROR_INIT;
    hox_status status = split_fill(split, api, samples, first, count, &why);
    if (is_worth_another(status)) {
        residency_make_room(r);
        why = (hox_error)HOX_ERROR_INIT;
        status = split_fill(split, api, samples, first, count, &why);
    }
    status = device_memory_verdict(&r->lanes->memory, status);
    return status == HOX_OK ? HOX_OK : hox_error_pass(error, status, &why);
}

static uint64_t lower_bound(const residency *r, const evaluation_split *split) {
    return lanes_chunk_of(r->lanes, r->lanes->controller.settings.lower_bound, split->count);
}

hox_status residency_create_window(residency *r, const evaluation_split *split,
                                   hox_samples **window, uint64_t *count, hox_error *error) {
    const uint64_t least = lower_bound(r, split);
    *count = lanes_chunk(r->lanes, split->count);
    for (;;) {
        const hox_status status = residency_create_samples(r, split, *count, window, error);
        if (!lanes_is_memory(status) || *count <= least) return status;
        const uint64_t half = *count / 2 > least ? *count / 2 : least;
        *count = lanes_chunk_of(r->lanes, half, split->count);
    }
}

void residency_drop(residency *r, evaluation_split *split) {
    for (evaluation_split **at = &r->splits; *at; at = &(*at)->next) {
        if (*at != split) continue;
        *at = split->next;
        split->next = NULL;
        r->lanes->api->samples_destroy(split->samples);
        split->samples = NULL;
        return;
    }
}

void residency_drop_all(residency *r) {
    while (r->splits)
        residency_drop(r, r->splits);
}

// ---- a place on the device ----

static bool leaves_room(const residency *r, const evaluation_split *split,
                        const vram_demand *demand) {
    return device_memory_fits(
        &r->lanes->memory, runner_bytes(demand->fixed, demand->per_sample, lower_bound(r, split)));
}

// Room for all of the split. One that did not fit before takes no runner's place.
static hox_status find_place(residency *r, evaluation_split *split, const vram_demand *demand,
                             hox_error *error) {
    const lanes *l = r->lanes;
    if (split->is_told)
        HOX_TRY(
            split_create_samples(split, l->api, l->runtime, split->count, &split->samples, error));
    else
        HOX_TRY(residency_create_samples(r, split, split->count, &split->samples, error));
    split->next = r->splits;
    r->splits = split;
    if (leaves_room(r, split, demand)) return HOX_OK;
    if (!split->is_told) residency_make_room(r);
    return leaves_room(r, split, demand) ? HOX_OK : HOX_OUT_OF_DEVICE_MEMORY;
}

// Likewise.
static hox_status fill_place(residency *r, const evaluation_split *split, hox_error *error) {
    if (split->is_told)
        return split_fill(split, r->lanes->api, split->samples, 0, split->count, error);
    return residency_fill(r, split, split->samples, 0, split->count, error);
}

static void tell_streamed(const residency *r, evaluation_split *split, const hox_error *why) {
    const lanes *l = r->lanes;
    const vram_state *state = &l->controller.state;
    memory_event event = {.why = MEMORY_STREAMED,
                          .batch_before = state->batch,
                          .batch_after = state->batch,
                          .ceiling = state->ceiling,
                          .bytes_needed = split->count * split_image_bytes(split),
                          .bytes_left = why->bytes_available};
    if (split->is_told) return;
    split->is_told = true;
    if (device_memory_read(&l->memory, &event.reading, NULL) != HOX_OK)
        event.reading = (vram_reading){0};
    lanes_tell(l, &event);
}

hox_status residency_place(residency *r, evaluation_split *split, const vram_demand *demand,
                           hox_error *error) {
    if (split->samples || !r->is_wanted[split->use]) return HOX_OK;
    hox_error why = HOX_ERROR_INIT;
    hox_status status = find_place(r, split, demand, &why);
    if (status == HOX_OK) status = fill_place(r, split, &why);
    if (status == HOX_OK) {
        split->is_told = false;
        return HOX_OK;
    }
    residency_drop(r, split);
    if (!lanes_is_memory(status)) return hox_error_pass(error, status, &why);
    tell_streamed(r, split, &why);
    return HOX_OK;
}
