// Pictures for tests of the decoder, written by libvips itself.
#ifndef IMGD_TEST_VIPS_H
#define IMGD_TEST_VIPS_H

#include <stddef.h>
#include <stdint.h>

// What becomes of the pixels before they are written.
enum test_vips_kind {
  TEST_VIPS_RGBA,
  TEST_VIPS_RGB,
  TEST_VIPS_GREY,
  TEST_VIPS_GREY_16,
  TEST_VIPS_RGBA_16,
  TEST_VIPS_CMYK,
  // Of a wide gamut, with its profile.
  TEST_VIPS_P3,
};

// Writes RGBA as a file, with a suffix such as ".png[palette]"; -1 on failure. The bytes are to be freed by free.
// With an orientation from 2 on, the file has it. With frames from 2 on, they are one below the other.
int test_vips_write(
    const uint8_t *pixels, int width, int height, enum test_vips_kind kind, const char *suffix, int orientation,
    int frames, uint8_t **bytes, size_t *count);

#endif
