#include "test_vips.h"

#include <stdlib.h>
#include <string.h>
#include <vips/vips.h>

// Replaces an image by what an operation made of it.
static int next(VipsImage **image, VipsImage **made, int failed) {
  g_object_unref(*image);
  *image = failed ? NULL : *made;
  return failed ? -1 : 0;
}

static int convert(VipsImage **image, enum test_vips_kind kind) {
  VipsImage *made = NULL;
  if (kind == TEST_VIPS_RGBA) return 0;
  if (kind == TEST_VIPS_RGBA_16)
    return next(image, &made, vips_colourspace(*image, &made, VIPS_INTERPRETATION_RGB16, NULL));
  if (next(image, &made, vips_extract_band(*image, &made, 0, "n", 3, NULL))) return -1;
  switch (kind) {
    case TEST_VIPS_GREY:
      return next(image, &made, vips_colourspace(*image, &made, VIPS_INTERPRETATION_B_W, NULL));
    case TEST_VIPS_GREY_16:
      return next(image, &made, vips_colourspace(*image, &made, VIPS_INTERPRETATION_GREY16, NULL));
    case TEST_VIPS_CMYK:
      return next(image, &made, vips_colourspace(*image, &made, VIPS_INTERPRETATION_CMYK, NULL));
    case TEST_VIPS_P3:
      return next(image, &made, vips_icc_transform(*image, &made, "p3", "input_profile", "srgb", NULL));
    default: return 0;
  }
}

int test_vips_write(
    const uint8_t *pixels, int width, int height, enum test_vips_kind kind, const char *suffix, int orientation,
    int frames, uint8_t **bytes, size_t *count) {
  VipsImage *image =
      vips_image_new_from_memory(pixels, (size_t)width * height * 4, width, height, 4, VIPS_FORMAT_UCHAR), *copy;
  if (!image) return -1;
  image->Type = VIPS_INTERPRETATION_sRGB;
  if (convert(&image, kind)) return -1;
  if (next(&image, &copy, vips_copy(image, &copy, NULL))) return -1;
  if (orientation > 1) vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
  if (frames > 1) vips_image_set_int(image, VIPS_META_PAGE_HEIGHT, height / frames);
  void *buffer = NULL;
  int failed = vips_image_write_to_buffer(image, suffix, &buffer, count, NULL);
  g_object_unref(image);
  if (failed) return -1;
  *bytes = malloc(*count);
  memcpy(*bytes, buffer, *count);
  g_free(buffer);
  return 0;
}
