// libhiredis: connections to a Redis or Valkey server, on a loop of our own.
#ifndef IMGD_CHIREDIS_SHIM_H
#define IMGD_CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>

// hiredis takes memory for an array when its head has arrived, whatever that says.
#define REDIS_MOST_ELEMENTS 1024

// To be called once, before any context is limited.
void redis_prepare_limit(void);
// Has longer arrays treated as if there were no memory for them; -1 without preparation.
int redis_limit_arrays(redisContext *context);
// The bytes that have arrived and are no reply yet.
size_t redis_unread(const redisContext *context);
// The bytes that wait to be written.
size_t redis_unsent(const redisContext *context);

#endif
