// A crowd: many connections that say their text piece by piece, by the clock or as fast as their sockets take it, and
// read the answers or do not. One thread, one epoll set. It goes on until SIGTERM; the answers that are read are
// counted and thrown away.

#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, BLOCK = 1 << 18 };
static volatile sig_atomic_t was_told_to_end;

struct member {
  int fd;               // -1: not connected
  const char *text;     // its part
  size_t said;          // bytes of its part
  int watches_writes;
};

struct crowd {
  struct bench_crowd what;
  const char *socket;
  size_t part;          // bytes of each part
  int epoll, next;
  uint64_t due;
  struct member *members;
  struct bench_crowd_result *result;
  char block[BLOCK];
};

static void told_to_end(int signal) {
  (void)signal;
  was_told_to_end = 1;
}

static int watch(struct crowd *crowd, struct member *member, int operation, int writes) {
  struct epoll_event event = {.events = (crowd->what.reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0), .data.ptr = member};
  member->watches_writes = writes;
  return epoll_ctl(crowd->epoll, operation, member->fd, &event);
}

static int join(struct crowd *crowd, struct member *member) {
  member->fd = bench_connect_as(crowd->socket, crowd->what.user);
  if (member->fd < 0) return -1;
  crowd->result->connections++;
  member->said = 0;
  // Without a clock, it says as much as its socket takes.
  return watch(crowd, member, EPOLL_CTL_ADD, crowd->what.interval_ns == 0 && crowd->part > 0);
}

static void part(struct crowd *crowd, struct member *member, int is_own_wish) {
  close(member->fd);
  member->fd = -1;
  if (!is_own_wish) crowd->result->closed++;
}

// Says the next piece; returns whether there is more to say.
static int speak(struct crowd *crowd, struct member *member) {
  size_t left = crowd->part - member->said;
  size_t count = crowd->what.piece > 0 && crowd->what.piece < left ? crowd->what.piece : left;
  if (count == 0) return 0;
  ssize_t sent = send(member->fd, member->text + member->said, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno == EAGAIN) return crowd->result->blocked++, 1;
  if (sent < 0) return part(crowd, member, 0), 0;
  crowd->result->said += (uint64_t)sent;
  member->said += (size_t)sent;
  if (member->said == crowd->part && crowd->what.repeats) member->said = 0;
  return member->said < crowd->part;
}

static uint64_t occurrences(const char *text, size_t count, const char *what, size_t length) {
  uint64_t found = 0;
  for (const char *end = text + count; (text = memmem(text, (size_t)(end - text), what, length)); found++)
    text += length;
  return found;
}

static void hear(struct crowd *crowd, struct member *member) {
  static const char refusal[] = "\"ok\":false";
  ssize_t count = recv(member->fd, crowd->block, BLOCK, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) return part(crowd, member, 0);
  crowd->result->lines += occurrences(crowd->block, (size_t)count, "\n", 1);
  crowd->result->refusals += occurrences(crowd->block, (size_t)count, refusal, sizeof refusal - 1);
}

// The next one in turn says its next piece. One that leaves when it has said all comes again as a new connection.
static int take_turn(struct crowd *crowd) {
  struct member *member = &crowd->members[crowd->next];
  crowd->next = (crowd->next + 1) % crowd->what.connections;
  if (member->fd < 0) return crowd->what.leaves ? join(crowd, member) : 0;
  int has_more = speak(crowd, member);
  if (!has_more && crowd->what.leaves && member->fd >= 0) {
    part(crowd, member, 1);
    return join(crowd, member);
  }
  return 0;
}

static int turn(struct crowd *crowd) {
  uint64_t now = bench_now_ns(), wait = 100000000;
  if (crowd->what.interval_ns > 0) {
    for (; crowd->due <= now; crowd->due += crowd->what.interval_ns)
      if (take_turn(crowd) < 0) return -1;
    now = bench_now_ns();
    wait = crowd->due > now ? crowd->due - now : 0;
  }
  struct timespec limit = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
  struct epoll_event events[EVENTS];
  int count = epoll_pwait2(crowd->epoll, events, EVENTS, &limit, NULL);
  if (count < 0) return errno == EINTR ? 0 : -1;
  for (int i = 0; i < count; i++) {
    struct member *member = events[i].data.ptr;
    if (events[i].events & ~(uint32_t)EPOLLOUT) {
      if (crowd->what.reads) hear(crowd, member);
      else part(crowd, member, 0);
    }
    if (member->fd >= 0 && events[i].events & EPOLLOUT && !speak(crowd, member) && member->fd >= 0 &&
        watch(crowd, member, EPOLL_CTL_MOD, 0) < 0)
      return -1;
  }
  return 0;
}

static int gather(struct crowd *crowd, const char *text) {
  crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (crowd->epoll < 0 || crowd->members == NULL) return -1;
  for (int i = 0; i < crowd->what.connections; i++) {
    struct member *member = &crowd->members[i];
    member->text = text + crowd->part * (size_t)(i % crowd->what.parts);
    if (join(crowd, member) < 0) return -1;
  }
  return 0;
}

int bench_crowd_run(const struct bench_crowd *what, const char *socket, const void *text, size_t bytes,
                    struct bench_crowd_result *result) {
  struct sigaction action = {.sa_handler = told_to_end};
  struct crowd *crowd = calloc(1, sizeof *crowd);
  if (crowd == NULL) return -1;
  sigaction(SIGTERM, &action, NULL);
  // The kernel's slack would gather pieces to bursts.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  memset(result, 0, sizeof *result);
  crowd->what = *what;
  crowd->socket = socket;
  crowd->part = bytes / (size_t)what->parts;
  crowd->result = result;
  crowd->members = calloc((size_t)what->connections, sizeof *crowd->members);
  if (gather(crowd, text) < 0 || write(STDOUT_FILENO, "ready\n", 6) < 0) return -1;
  crowd->due = bench_now_ns();
  while (!was_told_to_end)
    if (turn(crowd) < 0) return -1;
  // Its connections and its memory go with its process.
  return 0;
}
