// libhiredis: connections to a Redis or Valkey server, on a loop of our own.
#ifndef IMGD_CHIREDIS_SHIM_H
#define IMGD_CHIREDIS_SHIM_H

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#endif
