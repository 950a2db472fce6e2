// libmicrohttpd: connections and requests of HTTP, on a loop of our own.
#ifndef IMGD_CMICROHTTPD_H
#define IMGD_CMICROHTTPD_H

#include <microhttpd.h>

#endif
