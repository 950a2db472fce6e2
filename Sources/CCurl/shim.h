// libcurl, with its variadic calls given one typed name for each kind of argument.
#ifndef IMGD_CCURL_SHIM_H
#define IMGD_CCURL_SHIM_H

#include <curl/curl.h>

#endif
