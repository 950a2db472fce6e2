#include "CHiredis.h"

// The functions that hiredis has for all readers; it gives them out with each context only.
static redisReplyObjectFunctions unlimited;

static void *create_limited_array(const redisReadTask *task, int elements) {
  return elements > REDIS_MOST_ELEMENTS ? NULL : unlimited.createArray(task, elements);
}

static redisReplyObjectFunctions limited;

void redis_prepare_limit(void) {
  redisReader *reader = redisReaderCreate();
  if (!reader) return;
  unlimited = *reader->fn;
  redisReaderFree(reader);
  limited = unlimited;
  limited.createArray = create_limited_array;
}

int redis_limit_arrays(redisContext *context) {
  if (!limited.createArray) return -1;
  context->reader->fn = &limited;
  return 0;
}

size_t redis_unread(const redisContext *context) {
  return context->reader->len - context->reader->pos;
}

size_t redis_unsent(const redisContext *context) { return sdslen(context->obuf); }
