#include "CJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

struct reader {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  jmp_buf way_out;
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

enum jpeg_result jpeg_pixels(
    const uint8_t *bytes, size_t count, int width, int height, uint8_t *pixels, char reason[200]) {
  struct reader reader;
  open_reader(&reader, reason);
  if (setjmp(reader.way_out)) {
    jpeg_destroy_decompress(&reader.jpeg);
    return JPEG_DAMAGED;
  }
  jpeg_create_decompress(&reader.jpeg);
  jpeg_mem_src(&reader.jpeg, bytes, count);
  jpeg_read_header(&reader.jpeg, TRUE);
  reader.jpeg.out_color_space = JCS_EXT_RGBA;
  jpeg_start_decompress(&reader.jpeg);
  if (reader.jpeg.output_width != (JDIMENSION)width || reader.jpeg.output_height != (JDIMENSION)height) {
    jpeg_destroy_decompress(&reader.jpeg);
    return JPEG_OTHER;
  }
  size_t row = (size_t)width * 4;
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    JSAMPROW rows[8];
    int wanted = 0;
    for (JDIMENSION y = reader.jpeg.output_scanline; wanted < 8 && y < reader.jpeg.output_height; y++)
      rows[wanted++] = pixels + (size_t)y * row;
    jpeg_read_scanlines(&reader.jpeg, rows, wanted);
  }
  jpeg_finish_decompress(&reader.jpeg);
  jpeg_destroy_decompress(&reader.jpeg);
  return JPEG_DECODED;
}
