// contact_sheet.h - a picture of many labelled images, a row a class, as PNG.
#pragma once

#include <hox/status.h>
#include <stdbool.h>

typedef struct contact_sheet {
    uint32_t row_count, column_count;
    uint32_t channels, height,
        width; // of an image; 1 channel is gray, of others the first three are red, green, blue
    const char *const *names; // a row's label
    const uint8_t *images;    // [row][column][C][H][W]
    const uint32_t *filled;   // images of each row, at most column_count
} contact_sheet;

// False where hox was built without libgd: then saving says so.
bool contact_sheet_is_available(void);

// Errors: IO, OUT_OF_HOST_MEMORY, UNSUPPORTED. [main]
hox_status contact_sheet_save(const char *path, const contact_sheet *sheet,
                              hox_error *error) HOX_MUST_CHECK;
