#include "CJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum { MOST_ROWS = 64 };

struct reader {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  jmp_buf way_out;
  // Freed on the way out as well, and so not a variable of the function that is left.
  uint8_t *strip;
  char *reason;
};

static void leave(j_common_ptr jpeg) {
  struct reader *reader = (struct reader *)jpeg;
  char text[JMSG_LENGTH_MAX];
  reader->errors.format_message(jpeg, text);
  snprintf(reader->reason, 200, "%s", text);
  longjmp(reader->way_out, 1);
}

// Like libvips: a file that ends early is damaged, other trouble is not worth losing the picture.
static void notice(j_common_ptr jpeg, int level) {
  struct reader *reader = (struct reader *)jpeg;
  if (level < 0 && reader->errors.msg_code == JWRN_JPEG_EOF) {
    snprintf(reader->reason, 200, "the data end too early");
    longjmp(reader->way_out, 1);
  }
  if (level < 0) reader->errors.num_warnings++;
}

static void be_silent(j_common_ptr jpeg) { (void)jpeg; }

static void open_reader(struct reader *reader, char *reason) {
  memset(reader, 0, sizeof *reader);
  reader->reason = reason;
  reader->jpeg.err = jpeg_std_error(&reader->errors);
  reader->errors.error_exit = leave;
  reader->errors.emit_message = notice;
  reader->errors.output_message = be_silent;
}

static int is_ordinary(const struct jpeg_decompress_struct *jpeg) {
  int components = jpeg->num_components;
  return jpeg->data_precision == 8 && ((jpeg->jpeg_color_space == JCS_YCbCr && components == 3) ||
                                       (jpeg->jpeg_color_space == JCS_GRAYSCALE && components == 1));
}

enum jpeg_result jpeg_profile(
    const uint8_t *bytes, size_t count, uint8_t **profile, size_t *profile_count, char reason[200]) {
  struct reader reader;
  *profile = NULL;
  *profile_count = 0;
  open_reader(&reader, reason);
  if (setjmp(reader.way_out)) {
    jpeg_destroy_decompress(&reader.jpeg);
    return JPEG_DAMAGED;
  }
  jpeg_create_decompress(&reader.jpeg);
  jpeg_mem_src(&reader.jpeg, bytes, count);
  jpeg_save_markers(&reader.jpeg, JPEG_APP0 + 2, 0xFFFF);
  jpeg_read_header(&reader.jpeg, TRUE);
  enum jpeg_result result = is_ordinary(&reader.jpeg) ? JPEG_DECODED : JPEG_OTHER;
  JOCTET *found = NULL;
  unsigned int found_count = 0;
  if (result == JPEG_DECODED && jpeg_read_icc_profile(&reader.jpeg, &found, &found_count)) {
    *profile = found;
    *profile_count = found_count;
  }
  jpeg_destroy_decompress(&reader.jpeg);
  return result;
}

// The rows that are decoded before they are given away: as many bytes as stay in a core's cache.
static int rows_at_once(size_t row) {
  size_t rows = (128 << 10) / row;
  return rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : (int)rows;
}

enum jpeg_result jpeg_pixels(
    const uint8_t *bytes, size_t count, int width, int height, int is_bgra,
    int (*take)(void *context, const uint8_t *rows, size_t count), void *context, char reason[200]) {
  struct reader reader;
  open_reader(&reader, reason);
  if (setjmp(reader.way_out)) {
    free(reader.strip);
    jpeg_destroy_decompress(&reader.jpeg);
    return JPEG_DAMAGED;
  }
  jpeg_create_decompress(&reader.jpeg);
  jpeg_mem_src(&reader.jpeg, bytes, count);
  jpeg_read_header(&reader.jpeg, TRUE);
  reader.jpeg.out_color_space = is_bgra ? JCS_EXT_BGRA : JCS_EXT_RGBA;
  jpeg_start_decompress(&reader.jpeg);
  size_t row = (size_t)width * 4;
  int most = rows_at_once(row);
  int is_wanted = reader.jpeg.output_width == (JDIMENSION)width &&
                  reader.jpeg.output_height == (JDIMENSION)height && (reader.strip = malloc(row * most));
  while (is_wanted && reader.jpeg.output_scanline < reader.jpeg.output_height) {
    int filled = 0;
    while (filled < most && reader.jpeg.output_scanline < reader.jpeg.output_height) {
      JSAMPROW rows[MOST_ROWS];
      for (int i = filled; i < most; i++) rows[i - filled] = reader.strip + i * row;
      filled += jpeg_read_scanlines(&reader.jpeg, rows, most - filled);
    }
    is_wanted = take(context, reader.strip, filled * row);
  }
  if (is_wanted) jpeg_finish_decompress(&reader.jpeg);
  free(reader.strip);
  reader.strip = NULL;
  jpeg_destroy_decompress(&reader.jpeg);
  return is_wanted ? JPEG_DECODED : JPEG_OTHER;
}
