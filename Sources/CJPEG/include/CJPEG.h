// JPEG to RGBA by libjpeg-turbo, straight to where the pixels are wanted. libjpeg leaves by longjmp when a file is
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

// Decodes a picture of exactly this size into width * height * 4 bytes.
enum jpeg_result jpeg_pixels(
    const uint8_t *bytes, size_t count, int width, int height, uint8_t *pixels, char reason[200]);

#endif
