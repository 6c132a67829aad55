#include "io/contact_sheet.h"

#include "base/file.h"

#include <gd.h>
#include <gdfonts.h>
#include <string.h>

enum { MARGIN = 4, LEAST_SIDE = 48, MOST_SIDE = 64, MOST_NAME = 24 };

bool contact_sheet_is_available(void) {
    return true;
}

// Whole factor by which small images are enlarged.
static int zoom_of(const contact_sheet *s) {
    const uint32_t side = s->height > s->width ? s->height : s->width;
    return side < LEAST_SIDE ? (int)((MOST_SIDE + side - 1) / side) : 1;
}

static int pixel_color(const contact_sheet *s, const uint8_t *image, uint32_t y, uint32_t x) {
    const size_t plane = (size_t)s->height * s->width;
    const uint8_t *at = image + (size_t)y * s->width + x;
    if (s->channels < 3) return gdTrueColor(at[0], at[0], at[0]);
    return gdTrueColor(at[0], at[plane], at[2 * plane]);
}

static void draw_image(gdImagePtr picture, const contact_sheet *s, const uint8_t *image, int left,
                       int top, int zoom) {
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            const int from_x = left + (int)x * zoom, from_y = top + (int)y * zoom;
            gdImageFilledRectangle(picture, from_x, from_y, from_x + zoom - 1, from_y + zoom - 1,
                                   pixel_color(s, image, y, x));
        }
}

static void draw_name(gdImagePtr picture, const char *name, int top) {
    char text[MOST_NAME + 1];
    snprintf(text, sizeof text, "%s", name);
    gdImageString(picture, gdFontGetSmall(), MARGIN, top, (unsigned char *)text,
                  gdTrueColor(0, 0, 0));
}

static gdImagePtr draw(const contact_sheet *s) {
    const int zoom = zoom_of(s), left = gdFontGetSmall()->w * MOST_NAME + 2 * MARGIN;
    const int cell_width = (int)s->width * zoom + MARGIN;
    const int cell_height = (int)s->height * zoom + MARGIN;
    gdImagePtr picture = gdImageCreateTrueColor(left + cell_width * (int)s->column_count,
                                                MARGIN + cell_height * (int)s->row_count);
    if (!picture) return NULL;
    gdImageFilledRectangle(picture, 0, 0, gdImageSX(picture), gdImageSY(picture),
                           gdTrueColor(255, 255, 255));
    const size_t image_size = (size_t)s->channels * s->height * s->width;
    for (uint32_t row = 0; row < s->row_count; row++) {
        const int top = MARGIN + (int)row * cell_height;
        draw_name(picture, s->names[row], top);
        for (uint32_t column = 0; column < s->filled[row]; column++)
            draw_image(picture, s,
                       s->images + ((size_t)row * s->column_count + column) * image_size,
                       left + (int)column * cell_width, top, zoom);
    }
    return picture;
}

hox_status contact_sheet_save(const char *path, const contact_sheet *sheet, hox_error *error) {
    gdImagePtr picture = draw(sheet);
    int size = 0;
    void *png = picture ? gdImagePngPtr(picture, &size) : NULL;
    const hox_status status =
        png ? file_write(path, png, (size_t)size, error)
            : hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "%s: no memory for the picture", path);
    gdFree(png);
    if (picture) gdImageDestroy(picture);
    return status;
}
