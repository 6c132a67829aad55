// dataset.c - a dataset that lies as its row in CMakeLists.txt says.
#include "double.h"

static hox_status open(const hox_host *host, const void *options, hox_dataset **dataset,
                       hox_error *error) {
    (void)host;
    (void)options;
    *dataset = NULL;
    return double_does_nothing(error);
}

static void close(hox_dataset *dataset) {
    (void)dataset;
    double_called();
}

static void info(const hox_dataset *dataset, hox_dataset_info *facts) {
    (void)dataset;
    (void)facts;
    double_called();
}

static hox_status read(hox_dataset *dataset, uint32_t split, const uint64_t *indices,
                       uint64_t count, void *images, int32_t *labels, hox_error *error) {
    (void)dataset;
    (void)split;
    (void)indices;
    (void)count;
    (void)images;
    (void)labels;
    return double_does_nothing(error);
}

static const struct {
    hox_dataset_api known;
    void (*later[2])(void);
} table = {
    .known = {.struct_size = sizeof(hox_dataset_api),
              .open = open,
              .close = close,
              .info = info,
              .read = read,
              TABLE_LIES},
    .later = {double_trap, double_trap},
};

DOUBLE(HOX_KIND_DATASET, .dataset = &table.known);
