#include <ctype.h>
#include <stdlib.h>

const char *_swift_stdlib_strtod_clocale(const char *text, double *number);

// By this the standard library reads a number; its embedded form leaves it to the program. No program here
// sets another locale than that of C.
const char *_swift_stdlib_strtod_clocale(const char *text, double *number) {
  char *end;
  if (isspace((unsigned char)*text)) return NULL;
  *number = strtod(text, &end);
  return end;
}
