// png_fixture.h - writes PNG files of every kind, whole or spoilt.
#pragma once

#include <stdint.h>

// What libpng's png_set_IHDR takes, and the rows as the file has them: 16 bits big-endian, fewer
// than 8 packed, no gaps.
typedef struct png_picture {
    uint32_t width, height;
    int bit_depth, color_type;
    int is_interlaced;
    const unsigned char *rows;
    const unsigned char *palette; // color_type 3: red, green, blue of each colour
    int palette_count;
    const unsigned char *palette_alpha; // (optional) palette_count
} png_picture;

enum { PNG_GRAY = 0, PNG_RGB = 2, PNG_PALETTE = 3, PNG_GRAY_ALPHA = 4, PNG_RGB_ALPHA = 6 };

void write_png(const char *path, const png_picture *picture);
// All of one colour.
void write_plain_png(const char *path, uint32_t width, uint32_t height, unsigned char red,
                     unsigned char green, unsigned char blue);
// Makes the file claim another size; its header stays well-formed.
void claim_png_size(const char *path, uint32_t width, uint32_t height);
