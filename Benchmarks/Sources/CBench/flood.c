// The attacking client: many connections that say a lot at once and read all answers, without keeping
// any. One thread, one epoll set. Answers are searched for a mark and for refusals, and thrown away, so
// that an answer of a gigabyte costs this process next to nothing.

#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Both searched texts have ten letters: nine of them may be in the block before.
enum { BLOCK = 1 << 18, CARRY = 9, EVENTS = 256 };
static const char mark[] = "\"id\":\"end\"", refusal[] = "\"ok\":false";

struct attacker {
  int fd;               // -1 when the server has closed it
  const char *left;     // what is still to be said
  size_t left_bytes;
  int has_answered;     // the mark has come since it was last told to speak
  size_t carried;
  char carry[CARRY];
};

struct bench_flood {
  int epoll, count, waiting;
  struct attacker *attackers;
  char *said;
  struct bench_flood_result result;
  char block[CARRY + BLOCK];
};

static int interest(struct bench_flood *flood, struct attacker *attacker, int operation) {
  struct epoll_event event = {.events = EPOLLIN | (attacker->left_bytes ? EPOLLOUT : 0),
                              .data.ptr = attacker};
  return epoll_ctl(flood->epoll, operation, attacker->fd, &event);
}

static void answered(struct bench_flood *flood, struct attacker *attacker) {
  if (!attacker->has_answered) flood->waiting--;
  attacker->has_answered = 1;
}

static void closed(struct bench_flood *flood, struct attacker *attacker) {
  close(attacker->fd);
  attacker->fd = -1;
  attacker->left_bytes = 0;
  flood->result.closed++;
  answered(flood, attacker);
}

// MARK: Speaking and reading

static void speak(struct bench_flood *flood, struct attacker *attacker) {
  ssize_t count = send(attacker->fd, attacker->left, attacker->left_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && errno != EAGAIN) return closed(flood, attacker);
  if (count <= 0) return;
  attacker->left += count;
  attacker->left_bytes -= (size_t)count;
  if (attacker->left_bytes == 0) interest(flood, attacker, EPOLL_CTL_MOD);
}

static uint64_t occurrences(const char *text, size_t count, const char *what, size_t length) {
  uint64_t found = 0;
  for (const char *end = text + count; (text = memmem(text, (size_t)(end - text), what, length)); found++)
    text += length;
  return found;
}

static void look(struct bench_flood *flood, struct attacker *attacker, char *text, size_t count) {
  flood->result.refusals += occurrences(text, count, refusal, sizeof refusal - 1);
  if (occurrences(text, count, mark, sizeof mark - 1) > 0) answered(flood, attacker);
  attacker->carried = count < CARRY ? count : CARRY;
  memcpy(attacker->carry, text + count - attacker->carried, attacker->carried);
}

static void hear(struct bench_flood *flood, struct attacker *attacker) {
  char *news = flood->block + CARRY;
  ssize_t count = recv(attacker->fd, news, BLOCK, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) return closed(flood, attacker);
  flood->result.bytes += (uint64_t)count;
  flood->result.lines += occurrences(news, (size_t)count, "\n", 1);
  memcpy(news - attacker->carried, attacker->carry, attacker->carried);
  look(flood, attacker, news - attacker->carried, attacker->carried + (size_t)count);
}

// MARK: The calls

int bench_flood_say(struct bench_flood *flood, const void *bytes, size_t count, int parts) {
  char *said = malloc(count);
  if (said == NULL) return -1;
  memcpy(said, bytes, count);
  free(flood->said);
  flood->said = said;
  flood->waiting = 0;
  size_t each = count / (size_t)parts;
  for (int i = 0; i < flood->count; i++) {
    struct attacker *attacker = &flood->attackers[i];
    if (attacker->fd < 0) continue;
    attacker->left = said + each * (size_t)(i % parts);
    attacker->left_bytes = each;
    attacker->has_answered = 0;
    flood->waiting++;
    if (interest(flood, attacker, EPOLL_CTL_MOD) < 0) return -1;
  }
  return 0;
}

int bench_flood_await(struct bench_flood *flood, uint64_t lines, uint64_t patience_ns) {
  uint64_t deadline = bench_now_ns() + patience_ns;
  while (flood->waiting > 0 || flood->result.lines < lines) {
    uint64_t now = bench_now_ns();
    if (now >= deadline) return errno = ETIMEDOUT, -1;
    struct timespec limit = {(time_t)((deadline - now) / 1000000000),
                             (long)((deadline - now) % 1000000000)};
    struct epoll_event events[EVENTS];
    int count = epoll_pwait2(flood->epoll, events, EVENTS, &limit, NULL);
    if (count < 0 && errno != EINTR) return -1;
    for (int i = 0; i < count; i++) {
      struct attacker *attacker = events[i].data.ptr;
      if (events[i].events & ~(uint32_t)EPOLLOUT) hear(flood, attacker);
      if (attacker->fd >= 0 && attacker->left_bytes > 0) speak(flood, attacker);
    }
  }
  return 0;
}

struct bench_flood_result bench_flood_tally(const struct bench_flood *flood) { return flood->result; }

struct bench_flood *bench_flood_open(const char *socket, int connections, int user) {
  struct bench_flood *flood = calloc(1, sizeof *flood);
  if (flood == NULL) return NULL;
  flood->epoll = epoll_create1(EPOLL_CLOEXEC);
  flood->attackers = calloc((size_t)connections, sizeof *flood->attackers);
  for (; flood->attackers && flood->count < connections; flood->count++) {
    struct attacker *attacker = &flood->attackers[flood->count];
    attacker->fd = bench_connect_as(socket, user);
    if (attacker->fd < 0 || interest(flood, attacker, EPOLL_CTL_ADD) < 0) break;
  }
  if (flood->count == connections) return flood;
  int reason = errno;
  bench_flood_close(flood);
  errno = reason;
  return NULL;
}

void bench_flood_close(struct bench_flood *flood) {
  for (int i = 0; i < flood->count; i++)
    if (flood->attackers[i].fd >= 0) close(flood->attackers[i].fd);
  if (flood->epoll >= 0) close(flood->epoll);
  free(flood->attackers);
  free(flood->said);
  free(flood);
}
