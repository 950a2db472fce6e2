// The part of libchafa that shows a picture as text. The library is opened when it is first needed, so imgctl runs
// without it; it is declared here, so that no header of it is needed to build. Its numbers and signatures are part of
// its stable interface since version 1.6.

#ifndef IMGD_CCHAFA_H
#define IMGD_CCHAFA_H

#include <stddef.h>
#include <stdint.h>

// Rows from top to bottom, of red, green, blue and alpha, which is not multiplied in.
struct imgctl_picture {
  const uint8_t *pixels;
  int width, height, stride;
};

// The numbers are the library's.
enum imgctl_colours {
  IMGCTL_MILLIONS_OF_COLOURS = 0,
  IMGCTL_256_COLOURS = 1,
  IMGCTL_16_COLOURS = 3,
  IMGCTL_NO_COLOURS = 5,
};

// Text of the library's, which imgctl_free_text gives back.
struct imgctl_text {
  const char *bytes;
  size_t count;
  void *owner;
};

// Whether the library is there.
int imgctl_open_chafa(void);

// The picture as half blocks that fill the columns and rows. The library is open.
struct imgctl_text imgctl_half_blocks(
    struct imgctl_picture picture, int columns, int rows, enum imgctl_colours colours);

// The picture as sixels, pixel by pixel but for a rest of its height: sixels are six pixels high. The library is open.
struct imgctl_text imgctl_sixels(struct imgctl_picture picture);

void imgctl_free_text(struct imgctl_text text);

#endif
