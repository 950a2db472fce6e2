#define _GNU_SOURCE
#include "framing.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t length_of_line(const char *bytes, size_t count) {
  const char *newline = memchr(bytes, '\n', count);
  return newline ? (size_t)(newline - bytes) + 1 : 0;
}

// Nearly every reply begins with the yes; only the others are searched, near their beginning.
static int says_no(const char *bytes, size_t count) {
  static const char yes[] = "{\"ok\":true", no[] = "\"ok\":false";
  if (count >= sizeof yes && memcmp(bytes, yes, sizeof yes - 1) == 0) return 0;
  return memmem(bytes, count < 128 ? count : 128, no, sizeof no - 1) != NULL;
}

struct reply frame_line(const char *bytes, size_t count) {
  size_t head = length_of_line(bytes, count);
  return (struct reply){.head = head, .failed = head > 0 && says_no(bytes, head)};
}

struct reply frame_bulk(const char *bytes, size_t count) {
  size_t head = length_of_line(bytes, count);
  if (head == 0) return (struct reply){0};
  long body = bytes[0] == '$' ? strtol(bytes + 1, NULL, 10) : -1;
  if (body < 0) return (struct reply){.head = head, .failed = 1};
  return (struct reply){.head = head, .body = (uint64_t)body + 2};
}

struct reply frame_page(const char *bytes, size_t count) {
  static const char name[] = "content-length:";
  const char *end = memmem(bytes, count, "\r\n\r\n", 4);
  if (end == NULL) return (struct reply){0};
  struct reply reply = {.head = (size_t)(end - bytes) + 4};
  reply.failed = count < 12 || memcmp(bytes + 9, "200", 3) != 0;
  for (const char *at = bytes; at < end; at += length_of_line(at, (size_t)(end - at) + 2))
    if (strncasecmp(at, name, sizeof name - 1) == 0)
      reply.body = strtoull(at + sizeof name - 1, NULL, 10);
  return reply;
}
