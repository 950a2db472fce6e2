// The program's arguments, as the kernel has passed them.
//
// Swift looks for them beside the environment. A library that is loaded before the program and sets a
// variable, as libfaketime does, has moved the environment by then, and Swift finds no argument at all.
// glibc also hands them to every constructor.

#define _GNU_SOURCE
#include "CLinux.h"

#include <unistd.h>

static int count;
static char **words;

__attribute__((constructor)) static void keep(int argument_count, char **arguments) {
  count = argument_count;
  words = arguments;
}

int linux_argument_count(void) { return count; }
const char *linux_argument(int index) { return words[index]; }
char **linux_environment(void) { return environ; }
