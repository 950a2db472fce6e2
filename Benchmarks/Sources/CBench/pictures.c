// Pictures, and what a program without a daemon does to decode them: plain calls of the libraries, in one process.

#include "CBench.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <vips/vips.h>

// MARK: Drawing

// A side of the drawing that pictures are cut out of, which repeats itself.
enum { SIDE = 1024, COARSEST = 256, CHANNELS = 3 };

static float dot(uint64_t seed, int x, int y) {
  uint64_t bits = (seed * SIDE + (uint64_t)x) * SIDE + (uint64_t)y;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return (float)(int32_t)(bits >> 32) / 2147483648.0f;
}

static float between(float from, float to, float share) { return from + (to - from) * share; }

// Dots at the corners of cells, and what lies between them.
static float noise(uint64_t seed, int cell, int x, int y) {
  int left = x / cell, right = (left + 1) % (SIDE / cell);
  int top = y / cell, bottom = (top + 1) % (SIDE / cell);
  float across = (float)(x % cell) / (float)cell, down = (float)(y % cell) / (float)cell;
  return between(between(dot(seed, left, top), dot(seed, right, top), across),
                 between(dot(seed, left, bottom), dot(seed, right, bottom), across), down);
}

// Brightness is noise of all sizes, the larger the stronger; colours change slowly, as in a photograph.
static void draw_dot(uint8_t *pixel, int x, int y) {
  float light = 128, strength = 56;
  for (int cell = COARSEST; cell >= 2; cell /= 2, strength *= 0.66f)
    light += strength * noise((uint64_t)cell, cell, x, y);
  for (int channel = 0; channel < CHANNELS; channel++) {
    float value = light + 40 * noise(1000 + (uint64_t)channel, COARSEST / 4, x, y);
    pixel[channel] = value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
  }
}

static const uint8_t *drawing(void) {
  static uint8_t *made;
  if (made) return made;
  made = malloc((size_t)SIDE * SIDE * CHANNELS);
  for (int y = 0; made && y < SIDE; y++)
    for (int x = 0; x < SIDE; x++) draw_dot(made + ((size_t)y * SIDE + (size_t)x) * CHANNELS, x, y);
  return made;
}

static uint8_t *cut_out(const struct bench_picture *picture) {
  const uint8_t *from = drawing();
  size_t row = (size_t)picture->width * CHANNELS, most = (size_t)SIDE * CHANNELS;
  size_t left = picture->seed * 37 % SIDE * CHANNELS;
  uint8_t *pixels = malloc(row * (size_t)picture->height);
  for (int y = 0; from && pixels && y < picture->height; y++) {
    const uint8_t *line = from + ((size_t)y + picture->seed * 101) % SIDE * most;
    for (size_t at = 0, some; at < row; at += some) {
      size_t start = (left + at) % most;
      some = most - start < row - at ? most - start : row - at;
      memcpy(pixels + (size_t)y * row + at, line + start, some);
    }
  }
  return pixels;
}

static int save(VipsImage *image, const struct bench_picture *picture, const char *path) {
  switch (picture->format) {
    case BENCH_JPEG: return vips_jpegsave(image, path, "Q", picture->quality, NULL);
    case BENCH_WEBP: return vips_webpsave(image, path, "Q", picture->quality, NULL);
    default: return vips_pngsave(image, path, NULL);
  }
}

static int fail(void) {
  fprintf(stderr, "%s", vips_error_buffer());
  vips_error_clear();
  return errno = EIO, -1;
}

int bench_draw(const struct bench_picture *picture, const char *path) {
  if (vips_init("imgd-bench")) return fail();
  uint8_t *pixels = cut_out(picture);
  if (pixels == NULL) return -1;
  size_t bytes = (size_t)picture->width * (size_t)picture->height * CHANNELS;
  VipsImage *image = vips_image_new_from_memory(
      pixels, bytes, picture->width, picture->height, CHANNELS, VIPS_FORMAT_UCHAR);
  if (image) image->Type = VIPS_INTERPRETATION_sRGB;
  int failed = image == NULL || save(image, picture, path);
  if (image) g_object_unref(image);
  free(pixels);
  return failed ? fail() : 0;
}

// MARK: Decoding

static int load(int format, const void *bytes, size_t count, VipsImage **image) {
  void *buffer = (void *)bytes;
  switch (format) {
    case BENCH_JPEG: return vips_jpegload_buffer(buffer, count, image, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    case BENCH_WEBP: return vips_webpload_buffer(buffer, count, image, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    default: return vips_pngload_buffer(buffer, count, image, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
  }
}

static VipsImage *with_alpha(VipsImage *image) {
  VipsImage *whole = NULL;
  if (vips_image_hasalpha(image)) return g_object_ref(image);
  return vips_addalpha(image, &whole, NULL) ? NULL : whole;
}

int bench_decode_by_vips(int format, const void *bytes, size_t count) {
  VipsImage *image = NULL, *coloured = NULL, *whole = NULL;
  void *pixels = NULL;
  size_t length = 0;
  if (vips_init("imgd-bench")) return fail();
  if (load(format, bytes, count, &image) == 0 &&
      vips_colourspace(image, &coloured, VIPS_INTERPRETATION_sRGB, NULL) == 0 &&
      (whole = with_alpha(coloured)) != NULL)
    pixels = vips_image_write_to_memory(whole, &length);
  if (whole) g_object_unref(whole);
  if (coloured) g_object_unref(coloured);
  if (image) g_object_unref(image);
  if (pixels == NULL) return fail();
  g_free(pixels);
  return 0;
}

struct guarded {
  struct jpeg_error_mgr errors;
  jmp_buf way_out;
};

static void leave(j_common_ptr jpeg) { longjmp(((struct guarded *)jpeg->err)->way_out, 1); }

int bench_decode_by_libjpeg(const void *bytes, size_t count) {
  struct jpeg_decompress_struct jpeg;
  struct guarded guarded;
  uint8_t *volatile pixels = NULL;
  jpeg.err = jpeg_std_error(&guarded.errors);
  guarded.errors.error_exit = leave;
  if (setjmp(guarded.way_out)) {
    jpeg_destroy_decompress(&jpeg);
    free(pixels);
    return errno = EIO, -1;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, bytes, count);
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_EXT_RGBA;
  jpeg_start_decompress(&jpeg);
  size_t row = (size_t)jpeg.output_width * 4;
  pixels = malloc(row * jpeg.output_height);
  if (pixels == NULL) longjmp(guarded.way_out, 1);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW line = pixels + row * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  free(pixels);
  return 0;
}
