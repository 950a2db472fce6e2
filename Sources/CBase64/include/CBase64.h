// Base64 by the vector instructions of the processor, which Swift cannot choose at run time.
#ifndef IMGD_CBASE64_H
#define IMGD_CBASE64_H

#include <stddef.h>
#include <stdint.h>

// Writes the letters of as many bytes as these instructions can take at a time, and answers how many bytes
// that were: a multiple of three, less than all, and none on a processor without such instructions.
// There must be room for four letters for each three of the bytes.
size_t base64_encode_vectors(const uint8_t *bytes, size_t count, uint8_t *letters);

#endif
