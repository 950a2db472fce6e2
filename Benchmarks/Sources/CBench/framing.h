// The length of a reply's head, and the number of body bytes that follow.
#ifndef IMGD_CBENCH_FRAMING_H
#define IMGD_CBENCH_FRAMING_H

#include <stddef.h>
#include <stdint.h>

struct reply {
  size_t head;     // 0: the head is incomplete
  uint64_t body;
  int failed;
};

typedef struct reply (*framing)(const char *bytes, size_t count);

struct reply frame_line(const char *bytes, size_t count);
struct reply frame_bulk(const char *bytes, size_t count);
struct reply frame_page(const char *bytes, size_t count);

#endif
