// JPEG to RGBA or BGRA by libjpeg-turbo. libjpeg leaves by longjmp when a file is
// damaged, which Swift code must not be left by.
#ifndef IMGD_CJPEG_H
#define IMGD_CJPEG_H

#include <stddef.h>
#include <stdint.h>

enum jpeg_result {
  JPEG_DECODED,
  // Damaged; the reason is set.
  JPEG_DAMAGED,
  // Not one of those that are decoded here, or of another size.
  JPEG_OTHER,
};

// The profile of a JPEG that can be decoded here: its colours are YCbCr or grey. To be freed; NULL when there is
// none.
enum jpeg_result jpeg_profile(
    const uint8_t *bytes, size_t count, uint8_t **profile, size_t *profile_count, char reason[200]);

// Decodes a picture of exactly this size, and gives away some rows at a time: 4 bytes a pixel, RGBA or BGRA, from above.
// A taker that answers 0 has had enough, and the picture counts as JPEG_OTHER.
enum jpeg_result jpeg_pixels(
    const uint8_t *bytes, size_t count, int width, int height, int is_bgra,
    int (*take)(void *context, const uint8_t *rows, size_t count), void *context, char reason[200]);

#endif
