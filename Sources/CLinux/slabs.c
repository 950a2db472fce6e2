// Memory for bodies, apart from malloc's:
//
//   slab, 2 MB:   marks │ in use │ free │ in use │ in use │ … │ free         runs of whole units of 512 bytes
//
// Malloc puts each body between what is freed soon after it, and the holes that stay are too small for the next; and
// the kernel would hand such memory out page by page. A slab gets its memory at once.
//
// A body gets the smallest free run that has room for it, which leaves the smallest holes when bodies of all sizes go
// in any order. Nothing here takes longer because there are many slabs: a free run is in the list of its length, and
// what is known of it stands in itself, at both ends. Its neighbours see by the marks that it is free.

#define _GNU_SOURCE
#include "CLinux.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { unit = 512, slab_bytes = 2 << 20, slab_units = slab_bytes / unit };
// Every run that is longer is in the list of this length: each has room for any body.
enum { most_units = SLABS_MOST / unit, long_run = most_units + 1 };

struct run {
  struct run *next, *previous;
  size_t units;
};

// The first unit of a slab. A bit is set for the first and the last unit of each run in use, and for this unit.
struct slab {
  uint64_t marks[slab_units / 64];
};
_Static_assert(sizeof(struct slab) == unit, "the marks fill the first unit");

struct slabs {
  pthread_mutex_t mutex;
  struct run *runs[long_run + 1];
  uint64_t filled[long_run / 64 + 1]; // which lists have a run
  size_t count, units_in_use;
  struct slab *empty; // one is kept, or a body that comes and goes alone would have one mapped each time
};

struct slabs *slabs_make(void) {
  struct slabs *slabs = calloc(1, sizeof *slabs);
  if (slabs) pthread_mutex_init(&slabs->mutex, NULL);
  return slabs;
}

static size_t units_for(size_t bytes) { return bytes ? (bytes + unit - 1) / unit : 1; }
static struct slab *slab_of(void *place) { return (void *)((uintptr_t)place & ~(uintptr_t)(slab_bytes - 1)); }
static void *place_of(struct slab *slab, size_t index) { return (char *)slab + index * unit; }
static size_t index_of(void *place) { return ((uintptr_t)place & (slab_bytes - 1)) / unit; }

static int is_marked(struct slab *slab, size_t index) { return slab->marks[index / 64] >> index % 64 & 1; }
static void mark(struct slab *slab, size_t index) { slab->marks[index / 64] |= 1ull << index % 64; }
static void unmark(struct slab *slab, size_t index) { slab->marks[index / 64] &= ~(1ull << index % 64); }

// Its length, at the end of a free run.
static size_t *units_before(void *end) { return (size_t *)end - 1; }

static void link_run(struct slabs *slabs, void *place, size_t units) {
  struct run *run = place;
  size_t length = units < long_run ? units : long_run;
  *run = (struct run){.next = slabs->runs[length], .units = units};
  *units_before((char *)place + units * unit) = units;
  if (run->next) run->next->previous = run;
  slabs->runs[length] = run;
  slabs->filled[length / 64] |= 1ull << length % 64;
}

static void unlink_run(struct slabs *slabs, struct run *run) {
  size_t length = run->units < long_run ? run->units : long_run;
  if (run->next) run->next->previous = run->previous;
  if (run->previous) run->previous->next = run->next;
  else if (!(slabs->runs[length] = run->next)) slabs->filled[length / 64] &= ~(1ull << length % 64);
}

static struct run *smallest_run(struct slabs *slabs, size_t units) {
  uint64_t rest = slabs->filled[units / 64] >> units % 64 << units % 64;
  for (size_t word = units / 64;; rest = slabs->filled[word]) {
    if (rest) return slabs->runs[word * 64 + __builtin_ctzll(rest)];
    if (++word > long_run / 64) return NULL;
  }
}

// The first slab gets its memory page by page: a daemon with a few pictures must not take 2 MB for them. Others have
// it at once, which takes half of the time.
static struct slab *map_slab(int is_first) {
  char *start = mmap(NULL, 2 * slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return NULL;
  struct slab *slab = slab_of(start + slab_bytes - 1);
  size_t before = (char *)slab - start;
  if (before) munmap(start, before);
  munmap(place_of(slab, slab_units), slab_bytes - before);
  if (!is_first) madvise(slab, slab_bytes, MADV_POPULATE_WRITE);
  mark(slab, 0);
  return slab;
}

static struct run *add_slab(struct slabs *slabs) {
  struct slab *slab = slabs->empty ? slabs->empty : map_slab(slabs->count == 0);
  if (!slab) return NULL;
  if (!slabs->empty) slabs->count += 1;
  slabs->empty = NULL;
  link_run(slabs, place_of(slab, 1), slab_units - 1);
  return place_of(slab, 1);
}

void *slabs_allocate(struct slabs *slabs, size_t bytes) {
  if (bytes > SLABS_MOST) return malloc(bytes);
  size_t units = units_for(bytes);
  pthread_mutex_lock(&slabs->mutex);
  struct run *run = smallest_run(slabs, units);
  if (!run) run = add_slab(slabs);
  if (run) {
    unlink_run(slabs, run);
    struct slab *slab = slab_of(run);
    size_t first = index_of(run);
    if (run->units > units) link_run(slabs, place_of(slab, first + units), run->units - units);
    mark(slab, first);
    mark(slab, first + units - 1);
    slabs->units_in_use += units;
  }
  pthread_mutex_unlock(&slabs->mutex);
  return run;
}

// Makes a run free, together with those beside it; returns its slab if that is to be unmapped.
static struct slab *free_run(struct slabs *slabs, void *place, size_t units) {
  struct slab *slab = slab_of(place);
  size_t first = index_of(place), end = first + units;
  unmark(slab, first);
  unmark(slab, end - 1);
  slabs->units_in_use -= units;
  if (!is_marked(slab, first - 1)) {
    first -= *units_before(place);
    unlink_run(slabs, place_of(slab, first));
  }
  if (end < slab_units && !is_marked(slab, end)) {
    struct run *next = place_of(slab, end);
    end += next->units;
    unlink_run(slabs, next);
  }
  if (end - first < slab_units - 1) {
    link_run(slabs, place_of(slab, first), end - first);
    return NULL;
  }
  if (!slabs->empty) {
    slabs->empty = slab;
    return NULL;
  }
  slabs->count -= 1;
  return slab;
}

void slabs_release(struct slabs *slabs, void *place, size_t bytes) {
  if (bytes > SLABS_MOST) return free(place);
  pthread_mutex_lock(&slabs->mutex);
  struct slab *slab = free_run(slabs, place, units_for(bytes));
  pthread_mutex_unlock(&slabs->mutex);
  if (slab) munmap(slab, slab_bytes);
}

static void cut(struct slabs *slabs, void *place, size_t units, size_t wanted) {
  struct slab *slab = slab_of(place);
  size_t first = index_of(place);
  pthread_mutex_lock(&slabs->mutex);
  // For a moment two runs in use. The first unit stays marked, and so the slab is not empty afterwards.
  mark(slab, first + wanted - 1);
  mark(slab, first + wanted);
  free_run(slabs, place_of(slab, first + wanted), units - wanted);
  pthread_mutex_unlock(&slabs->mutex);
}

void *slabs_resize(struct slabs *slabs, void *place, size_t from, size_t to) {
  if (from > SLABS_MOST && to > SLABS_MOST) return realloc(place, to);
  if (from <= SLABS_MOST && to <= SLABS_MOST) {
    size_t units = units_for(from), wanted = units_for(to);
    if (wanted < units) cut(slabs, place, units, wanted);
    if (wanted <= units) return place;
  }
  void *moved = slabs_allocate(slabs, to);
  if (!moved) return NULL;
  memcpy(moved, place, from < to ? from : to);
  slabs_release(slabs, place, from);
  return moved;
}

void slabs_give_back(struct slabs *slabs) {
  pthread_mutex_lock(&slabs->mutex);
  struct slab *slab = slabs->empty;
  if (slab) slabs->count -= 1;
  slabs->empty = NULL;
  pthread_mutex_unlock(&slabs->mutex);
  if (slab) munmap(slab, slab_bytes);
}

size_t slabs_taken(size_t bytes) { return bytes > SLABS_MOST ? bytes : units_for(bytes) * unit; }

size_t slabs_unused(struct slabs *slabs) {
  pthread_mutex_lock(&slabs->mutex);
  size_t unused = slabs->count * slab_bytes - slabs->units_in_use * unit;
  pthread_mutex_unlock(&slabs->mutex);
  return unused;
}
