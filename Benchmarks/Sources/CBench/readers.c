// Many readers of one redis stream, as the hosts of a fleet are: each has an XREAD wait for a second, and
// about once a second asks whether the stream still is the one that it knows. One thread, one epoll set. A writer
// beside them adds entries by the clock; an entry's time counts from when it was due until its last reader
// has it. Entries are numbered 0-1, 0-2 and so on, so that a reader needs only the last number of an answer.

#define _GNU_SOURCE
#include "CBench.h"
#include "histogram.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, ROOM = 1 << 17 };

// How many answers there are to what was asked last.
enum asked { WAITING = 1, CHECKING = 3 };
static const uint64_t patience_ns = 30ull * 1000000000;
static const uint64_t between_checks_ns = 900000000;

struct reader {
  int fd;
  enum asked asked;
  uint64_t last;        // the number of the last entry that it has
  char *held;           // the beginning of an incomplete answer
  size_t held_bytes;
  uint64_t checked;     // when it last asked whether the stream is the same
};

struct entry {
  uint64_t due;
  int readers;          // that have it
};

struct crowd {
  struct bench_readers what;
  struct bench_readers_result *result;
  int epoll, writer;
  struct reader *readers;
  int *idle;
  struct entry *entries;
  uint64_t written, finished;
  struct histogram last, each;
  char room[ROOM];
};

static uint64_t processor_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int connect_port(int port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), at_once = 1;
  if (fd < 0) return -1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

// What is said at once is small, and finds room in an idle connection.
static int say(struct crowd *crowd, int fd, const char *text, size_t bytes) {
  crowd->result->bytes_to_server += bytes;
  return send(fd, text, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -1;
}

// MARK: A reader

static int ask(struct crowd *crowd, struct reader *reader, enum asked what) {
  static const char check[] =
      "*1\r\n$4\r\nTIME\r\n*2\r\n$3\r\nGET\r\n$15\r\nimgd:generation\r\n"
      "*4\r\n$6\r\nXRANGE\r\n$11\r\nimgd:purges\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n";
  static const char wait[] =
      "*8\r\n$5\r\nXREAD\r\n$5\r\nBLOCK\r\n$4\r\n1000\r\n$5\r\nCOUNT\r\n$3\r\n100\r\n$7\r\nSTREAMS\r\n"
      "$11\r\nimgd:purges\r\n$%d\r\n%s\r\n";
  char text[400], number[32];
  int digits = snprintf(number, sizeof number, "0-%llu", (unsigned long long)reader->last);
  int bytes = what == WAITING ? snprintf(text, sizeof text, wait, digits, number)
                              : snprintf(text, sizeof text, check, digits, number, digits, number);
  reader->asked = what;
  if (what == CHECKING) reader->checked = bench_now_ns();
  return say(crowd, reader->fd, text, (size_t)bytes);
}

// The end of the value that begins here; NULL where it is not complete.
static const char *skip(const char *text, const char *end) {
  const char *line = memchr(text, '\n', (size_t)(end - text));
  if (line == NULL) return NULL;
  long count = strtol(text + 1, NULL, 10);
  const char *next = line + 1;
  switch (*text) {
  case '$': return count < 0 ? next : end - next >= count + 2 ? next + count + 2 : NULL;
  case '*':
    while (next != NULL && count-- > 0) next = skip(next, end);
    return next;
  default: return next;
  }
}

static void heard(struct crowd *crowd, struct reader *reader, uint64_t last) {
  uint64_t now = bench_now_ns();
  while (reader->last < last && reader->last < crowd->written) {
    struct entry *entry = &crowd->entries[reader->last++];
    histogram_add(&crowd->each, now - entry->due);
    if (++entry->readers < crowd->what.readers) continue;
    histogram_add(&crowd->last, now - entry->due);
    crowd->finished++;
  }
}

// Takes all answers to what was asked; 1 when they are not there yet.
static int take(struct crowd *crowd, struct reader *reader, const char *text, size_t bytes) {
  const char *next = text, *end = text + bytes;
  for (int part = 0; part < (int)reader->asked; part++) {
    if (next < end && *next == '-') return errno = EPROTO, -1;
    if ((next = next < end ? skip(next, end) : NULL) == NULL) return 1;
  }
  if (reader->asked == CHECKING) return ask(crowd, reader, WAITING);
  static const char mark[] = "\r\n0-";
  uint64_t last = reader->last;
  while ((text = memmem(text, (size_t)(end - text), mark, sizeof mark - 1)) != NULL)
    last = strtoull(text += sizeof mark - 1, NULL, 10);
  heard(crowd, reader, last);
  return ask(crowd, reader, bench_now_ns() - reader->checked < between_checks_ns ? WAITING : CHECKING);
}

static int hear(struct crowd *crowd, struct reader *reader) {
  memcpy(crowd->room, reader->held, reader->held_bytes);
  ssize_t count = recv(reader->fd, crowd->room + reader->held_bytes, ROOM - reader->held_bytes, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return 0;
  if (count <= 0) return errno = ECONNRESET, -1;
  crowd->result->bytes_from_server += (uint64_t)count;
  size_t bytes = reader->held_bytes + (size_t)count;
  int outcome = take(crowd, reader, crowd->room, bytes);
  free(reader->held);
  reader->held = NULL;
  reader->held_bytes = 0;
  if (outcome <= 0) return outcome;
  if ((reader->held = malloc(bytes)) == NULL) return -1;
  memcpy(reader->held, crowd->room, bytes);
  reader->held_bytes = bytes;
  return 0;
}

// MARK: The writer

static int write_due(struct crowd *crowd, uint64_t begun) {
  while (crowd->written < crowd->what.purges) {
    uint64_t due = begun + crowd->written * crowd->what.interval_ns;
    if (due > bench_now_ns()) return 0;
    static const char command[] =
        "*18\r\n$4\r\nXADD\r\n$11\r\nimgd:purges\r\n$6\r\nMAXLEN\r\n$1\r\n~\r\n$5\r\n10000\r\n$3\r\n0-*\r\n"
        "$1\r\nv\r\n$1\r\n1\r\n$5\r\nnonce\r\n$20\r\n12345678901234567890\r\n$2\r\nby\r\n$16\r\n0123456789abcdef\r\n"
        "$2\r\nat\r\n$13\r\n1700000000000\r\n$4\r\nsoft\r\n$1\r\n0\r\n"
        "$3\r\nurl\r\n$49\r\nhttps://pictures.example.org/0123456789abcdef.jpg\r\n";
    crowd->entries[crowd->written++].due = due;
    if (say(crowd, crowd->writer, command, sizeof command - 1) < 0) return -1;
  }
  return 0;
}

static int wait_ms(const struct crowd *crowd, uint64_t begun) {
  if (crowd->written == crowd->what.purges) return 100;
  uint64_t due = begun + crowd->written * crowd->what.interval_ns, now = bench_now_ns();
  return due > now ? (int)((due - now) / 1000000) : 0;
}

// MARK: The call

static int run(struct crowd *crowd) {
  uint64_t begun = bench_now_ns();
  uint64_t deadline = begun + crowd->what.purges * crowd->what.interval_ns + patience_ns;
  while (crowd->finished < crowd->what.purges) {
    if (bench_now_ns() > deadline) return errno = ETIMEDOUT, -1;
    if (write_due(crowd, begun) < 0) return -1;
    struct epoll_event events[EVENTS];
    int count = epoll_wait(crowd->epoll, events, EVENTS, wait_ms(crowd, begun));
    if (count < 0 && errno != EINTR) return -1;
    for (int i = 0; i < count; i++) {
      struct reader *reader = events[i].data.ptr;
      if (reader != NULL && hear(crowd, reader) < 0) return -1;
      if (reader == NULL && recv(crowd->writer, crowd->room, ROOM, MSG_DONTWAIT) == 0) return -1;
    }
  }
  crowd->result->elapsed_ns = bench_now_ns() - begun;
  return 0;
}

static int watch(struct crowd *crowd, int fd, struct reader *reader) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = reader};
  return fd < 0 ? -1 : epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int gather(struct crowd *crowd) {
  if (crowd->readers == NULL || crowd->idle == NULL || crowd->entries == NULL) return -1;
  crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
  crowd->writer = connect_port(crowd->what.port);
  if (crowd->epoll < 0 || watch(crowd, crowd->writer, NULL) < 0) return -1;
  for (int i = 0; i < crowd->what.readers; i++) {
    struct reader *reader = &crowd->readers[i];
    crowd->idle[i] = connect_port(crowd->what.port);
    reader->fd = connect_port(crowd->what.port);
    if (crowd->idle[i] < 0 || watch(crowd, reader->fd, reader) < 0 || ask(crowd, reader, CHECKING) < 0)
      return -1;
  }
  return 0;
}

static void part(struct crowd *crowd) {
  for (int i = 0; crowd->readers && crowd->idle && i < crowd->what.readers; i++) {
    if (crowd->readers[i].fd > 0) close(crowd->readers[i].fd);
    if (crowd->idle[i] > 0) close(crowd->idle[i]);
    free(crowd->readers[i].held);
  }
  if (crowd->writer > 0) close(crowd->writer);
  if (crowd->epoll > 0) close(crowd->epoll);
  free(crowd->readers);
  free(crowd->idle);
  free(crowd->entries);
  free(crowd);
}

int bench_readers_run(const struct bench_readers *what, struct bench_readers_result *result) {
  struct crowd *crowd = calloc(1, sizeof *crowd);
  if (crowd == NULL) return -1;
  memset(result, 0, sizeof *result);
  crowd->what = *what;
  crowd->result = result;
  crowd->readers = calloc((size_t)what->readers, sizeof *crowd->readers);
  crowd->idle = calloc((size_t)what->readers, sizeof *crowd->idle);
  crowd->entries = calloc(what->purges, sizeof *crowd->entries);
  uint64_t busy = processor_ns();
  int outcome = gather(crowd) < 0 ? -1 : run(crowd), reason = errno;
  result->busy_ns = processor_ns() - busy;
  result->each_p50_ns = histogram_percentile(&crowd->each, 50);
  result->last_p50_ns = histogram_percentile(&crowd->last, 50);
  result->last_p99_ns = histogram_percentile(&crowd->last, 99);
  part(crowd);
  errno = reason;
  return outcome;
}
