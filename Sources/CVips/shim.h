// Operations of libvips take their options as variable arguments, which Swift cannot pass: here is each that is
// used, with those options that are used. All of them return a new reference, or NULL and vips_error_buffer().
#ifndef IMGD_CVIPS_H
#define IMGD_CVIPS_H

#include <vips/vips.h>
#include <vips/vector.h>
#include <stdint.h>
#include <string.h>

// The loader is named, never found: none but the one for the format that was recognised sees the bytes.
// They have to last as long as the image.
static inline VipsImage *cvips_load(const char *loader, const void *bytes, size_t count, gboolean all_frames) {
  VipsImage *image = NULL;
  VipsBlob *blob = vips_blob_new(NULL, bytes, count);
  int failed = vips_call(
      loader, blob, &image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR,
      all_frames ? "n" : NULL, -1, NULL);
  vips_area_unref(VIPS_AREA(blob));
  return failed ? NULL : image;
}

// Smaller than it is, which costs less: by a whole number for JPEG, by a factor for WebP.
static inline VipsImage *cvips_load_small(
    const char *loader, const void *bytes, size_t count, int shrink, double scale) {
  VipsImage *image = NULL;
  VipsBlob *blob = vips_blob_new(NULL, bytes, count);
  int failed =
      scale < 1
          ? vips_call(
                loader, blob, &image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, "scale", scale,
                NULL)
          : vips_call(
                loader, blob, &image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, "shrink", shrink,
                NULL);
  vips_area_unref(VIPS_AREA(blob));
  return failed ? NULL : image;
}

// RGBA in memory, all of it 0, for others to write into.
static inline VipsImage *cvips_blank(int width, int height) {
  VipsImage *image = vips_image_new_memory();
  vips_image_init_fields(
      image, width, height, 4, VIPS_FORMAT_UCHAR, VIPS_CODING_NONE, VIPS_INTERPRETATION_sRGB, 1, 1);
  if (vips_image_write_prepare(image)) {
    g_object_unref(image);
    return NULL;
  }
  memset(VIPS_IMAGE_ADDR(image, 0, 0), 0, VIPS_IMAGE_SIZEOF_IMAGE(image));
  return image;
}

// Those of a picture in memory, row after row without a gap.
static inline uint8_t *cvips_pixels(VipsImage *image) { return VIPS_IMAGE_ADDR(image, 0, 0); }

// Computes all pixels, and keeps none.
static inline int cvips_read(VipsImage *in) {
  double mean;
  return vips_avg(in, &mean, NULL);
}

static inline VipsImage *cvips_upright(VipsImage *in) {
  VipsImage *out = NULL;
  return vips_autorot(in, &out, NULL) ? NULL : out;
}

// Through the profile that is embedded.
static inline VipsImage *cvips_srgb_by_profile(VipsImage *in) {
  VipsImage *out = NULL;
  int failed = vips_icc_transform(
      in, &out, "srgb", "embedded", TRUE, "intent", VIPS_INTENT_RELATIVE, "depth", 8, NULL);
  return failed ? NULL : out;
}

static inline VipsImage *cvips_srgb(VipsImage *in) {
  VipsImage *out = NULL;
  return vips_colourspace(in, &out, VIPS_INTERPRETATION_sRGB, NULL) ? NULL : out;
}

static inline VipsImage *cvips_bytes(VipsImage *in) {
  VipsImage *out = NULL;
  return vips_cast(in, &out, VIPS_FORMAT_UCHAR, NULL) ? NULL : out;
}

static inline VipsImage *cvips_first_bands(VipsImage *in, int count) {
  VipsImage *out = NULL;
  return vips_extract_band(in, &out, 0, "n", count, NULL) ? NULL : out;
}

static inline VipsImage *cvips_opaque(VipsImage *in) {
  VipsImage *out = NULL;
  return vips_addalpha(in, &out, NULL) ? NULL : out;
}

// On a colour.
static inline VipsImage *cvips_flat(VipsImage *in, int red, int green, int blue) {
  VipsImage *out = NULL;
  VipsArrayDouble *colour = vips_array_double_newv(3, (double)red, (double)green, (double)blue);
  int failed = vips_flatten(in, &out, "background", colour, NULL);
  vips_area_unref(VIPS_AREA(colour));
  return failed ? NULL : out;
}

// In a larger one of a colour; the alpha counts where the picture has some.
static inline VipsImage *cvips_embed(
    VipsImage *in, int left, int top, int width, int height, int red, int green, int blue, int alpha) {
  VipsImage *out = NULL;
  VipsArrayDouble *colour = vips_array_double_newv(
      vips_image_hasalpha(in) ? 4 : 3, (double)red, (double)green, (double)blue, (double)alpha);
  int failed = vips_embed(
      in, &out, left, top, width, height, "extend", VIPS_EXTEND_BACKGROUND, "background", colour, NULL);
  vips_area_unref(VIPS_AREA(colour));
  return failed ? NULL : out;
}

static inline VipsImage *cvips_part(VipsImage *in, int left, int top, int width, int height) {
  VipsImage *out = NULL;
  return vips_extract_area(in, &out, left, top, width, height, NULL) ? NULL : out;
}

static inline VipsImage *cvips_cut(VipsImage *in, int width, int height, VipsInteresting crop) {
  VipsImage *out = NULL;
  return vips_smartcrop(in, &out, width, height, "interesting", crop, NULL) ? NULL : out;
}

// One below the other.
static inline VipsImage *cvips_column(VipsImage **in, int count) {
  VipsImage *out = NULL;
  return vips_arrayjoin(in, &out, count, "across", 1, NULL) ? NULL : out;
}

static inline VipsImage *cvips_thumbnail(
    VipsImage *in, int width, int height, VipsSize size, VipsInteresting crop, gboolean linear) {
  VipsImage *out = NULL;
  int failed = vips_thumbnail_image(
      in, &out, width, "height", height, "size", size, "crop", crop, "linear", linear, NULL);
  return failed ? NULL : out;
}

// Savers: the bytes are freed with g_free.

static inline int cvips_save_jpeg(VipsImage *in, void **bytes, size_t *count, int quality) {
  return vips_jpegsave_buffer(in, bytes, count, "Q", quality, "optimize_coding", TRUE, "strip", TRUE, NULL);
}

static inline int cvips_save_png(VipsImage *in, void **bytes, size_t *count) {
  return vips_pngsave_buffer(in, bytes, count, "strip", TRUE, NULL);
}

static inline int cvips_save_webp(VipsImage *in, void **bytes, size_t *count, int quality) {
  return vips_webpsave_buffer(in, bytes, count, "Q", quality, "strip", TRUE, NULL);
}

static inline int cvips_save_avif(VipsImage *in, void **bytes, size_t *count, int quality) {
  return vips_heifsave_buffer(
      in, bytes, count, "Q", quality, "compression", VIPS_FOREIGN_HEIF_COMPRESSION_AV1, "strip", TRUE, NULL);
}

static inline int cvips_save_gif(VipsImage *in, void **bytes, size_t *count) {
  return vips_gifsave_buffer(in, bytes, count, NULL);
}

static inline int cvips_save_tiff(VipsImage *in, void **bytes, size_t *count) {
  return vips_tiffsave_buffer(
      in, bytes, count, "compression", VIPS_FOREIGN_TIFF_COMPRESSION_DEFLATE, "strip", TRUE, NULL);
}

static inline int cvips_save_jxl(VipsImage *in, void **bytes, size_t *count, int quality) {
  return vips_jxlsave_buffer(in, bytes, count, "Q", quality, "strip", TRUE, NULL);
}

#endif
