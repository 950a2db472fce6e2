// Counts the allocations of a process in the mapped file COUNTS, for tests and benchmarks to read. It is
// preloaded into the daemon that they measure; the functions of glibc do the work.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static uint64_t before_start;
static uint64_t *asked = &before_start;

static void count(void) { __atomic_fetch_add(asked, 1, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void start(void) {
  int fd = open(COUNTS, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof *asked) < 0) return;
  void *map = mmap(NULL, sizeof *asked, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) asked = map;
  close(fd);
}

void *malloc(size_t bytes) { return count(), __libc_malloc(bytes); }

void *calloc(size_t items, size_t bytes) { return count(), __libc_calloc(items, bytes); }

void *realloc(void *old, size_t bytes) { return count(), __libc_realloc(old, bytes); }

void *memalign(size_t edge, size_t bytes) { return count(), __libc_memalign(edge, bytes); }

void *aligned_alloc(size_t edge, size_t bytes) { return memalign(edge, bytes); }

int posix_memalign(void **place, size_t edge, size_t bytes) {
  void *memory = memalign(edge, bytes);
  if (memory == NULL) return ENOMEM;
  *place = memory;
  return 0;
}
