// png_fixture.c - see png_fixture.h.
#include <png.h>

#include "png_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <zlib.h>

static size_t row_bytes(const png_picture *picture) {
    static const size_t channels[] = {[PNG_GRAY] = 1,
                                      [PNG_RGB] = 3,
                                      [PNG_PALETTE] = 1,
                                      [PNG_GRAY_ALPHA] = 2,
                                      [PNG_RGB_ALPHA] = 4};
    return (channels[picture->color_type] * (size_t)picture->bit_depth * picture->width + 7) / 8;
}

static void write_rows(png_structp png, const png_picture *picture) {
    const int pass_count = png_set_interlace_handling(png);
    for (int pass = 0; pass < pass_count; pass++)
        for (uint32_t y = 0; y < picture->height; y++)
            png_write_row(png, picture->rows + y * row_bytes(picture));
}

void write_png(const char *path, const png_picture *picture) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    cr_assert(png && info);
    png_init_io(png, file);
    png_set_IHDR(png, info, picture->width, picture->height, picture->bit_depth,
                 picture->color_type,
                 picture->is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_color colors[256];
    for (int i = 0; i < picture->palette_count; i++)
        colors[i] = (png_color){picture->palette[3 * i], picture->palette[3 * i + 1],
                                picture->palette[3 * i + 2]};
    if (picture->palette) png_set_PLTE(png, info, colors, picture->palette_count);
    if (picture->palette_alpha)
        png_set_tRNS(png, info, picture->palette_alpha, picture->palette_count, NULL);
    png_write_info(png, info);
    write_rows(png, picture);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    cr_assert_eq(fclose(file), 0);
}

void write_plain_png(const char *path, uint32_t width, uint32_t height, unsigned char red,
                     unsigned char green, unsigned char blue) {
    unsigned char *rows = malloc((size_t)3 * width * height);
    cr_assert_not_null(rows);
    for (size_t i = 0; i < (size_t)width * height; i++) {
        rows[3 * i] = red;
        rows[3 * i + 1] = green;
        rows[3 * i + 2] = blue;
    }
    write_png(path, &(png_picture){width, height, 8, PNG_RGB, 0, rows, NULL, 0, NULL});
    free(rows);
}

static void put_big_endian(unsigned char bytes[4], uint32_t value) {
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (24 - 8 * i));
}

// Signature 8, length 4, then "IHDR" and its 13 bytes, over which the checksum goes.
void claim_png_size(const char *path, uint32_t width, uint32_t height) {
    unsigned char chunk[17], checksum[4];
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 12, SEEK_SET);
    cr_assert_eq(fread(chunk, 1, sizeof chunk, file), sizeof chunk);
    put_big_endian(chunk + 4, width);
    put_big_endian(chunk + 8, height);
    put_big_endian(checksum, (uint32_t)crc32(0, chunk, sizeof chunk));
    fseek(file, 12, SEEK_SET);
    cr_assert_eq(fwrite(chunk, 1, sizeof chunk, file), sizeof chunk);
    cr_assert_eq(fwrite(checksum, 1, sizeof checksum, file), sizeof checksum);
    cr_assert_eq(fclose(file), 0);
}
