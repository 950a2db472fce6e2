// An origin for sieges: one picture under every URL, at once or after a delay, or one of the ways in
// which a server is dead. One thread, one epoll set; a request is known by the blank line that ends it.

#define _GNU_SOURCE
#include "CBench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 1 << 16, EVENTS = 256, NOTE = 1000, LISTENER = 1 << 30 };
static const uint64_t drip_ns = 1000000000;

struct peer {
  int is_open, seen;    // letters of the blank line that were seen
  uint64_t due;         // when its answer, or its next byte, is to be sent; 0: never
};

struct origin {
  struct bench_origin what;
  int epoll;
  char *answer;
  size_t bytes;
  struct peer peers[CONNECTIONS];
  int due[CONNECTIONS]; // peers in the order of their times, in a ring
  unsigned first, last;
};

static struct sockaddr_in address_of(const struct bench_origin *what, int host) {
  uint32_t base = what->kind == BENCH_PICTURES ? INADDR_LOOPBACK : 0x7f000101;
  return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)what->port),
                              .sin_addr.s_addr = htonl(base + (uint32_t)host)};
}

// A server that is reached by nobody: its queue is full, and it takes nobody out of it.
static void fill_queue(const struct sockaddr_in *address) {
  for (int i = 0; i < 4; i++) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    connect(fd, (const struct sockaddr *)address, sizeof *address);
  }
}

static int listen_on(struct origin *origin, int host) {
  struct sockaddr_in address = address_of(&origin->what, host);
  int yes = 1, is_hole = origin->what.kind == BENCH_BLACKHOLE;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) return -1;
  if (listen(fd, is_hole ? 0 : 4096) < 0) return -1;
  if (is_hole) return fill_queue(&address), 0;
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = LISTENER | (uint32_t)fd};
  return epoll_ctl(origin->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void take(struct origin *origin, int listener) {
  for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)fd};
    int yes = 1;
    if (fd >= CONNECTIONS || epoll_ctl(origin->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
      close(fd);
      continue;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    origin->peers[fd] = (struct peer){.is_open = 1};
  }
}

static void drop(struct origin *origin, int fd) {
  origin->peers[fd].is_open = 0;
  close(fd);
}

static int write_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = send(fd, bytes, count, MSG_NOSIGNAL);
    if (written < 0 && errno != EAGAIN) return -1;
    if (written < 0 && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 5000) <= 0) return -1;
    if (written > 0) bytes += written, count -= (size_t)written;
  }
  return 0;
}

static void later(struct origin *origin, int fd, uint64_t delay) {
  origin->peers[fd].due = bench_now_ns() + delay;
  origin->due[origin->last++ % CONNECTIONS] = fd;
}

static void answer(struct origin *origin, int fd) {
  int drips = origin->what.kind == BENCH_DRIPPING;
  // A dripping server has sent its head at once; the rest is a byte a second.
  size_t count = drips ? 1 : origin->bytes;
  if (write_all(fd, drips ? "x" : origin->answer, count) < 0) return drop(origin, fd);
  if (drips) later(origin, fd, drip_ns);
}

static void asked(struct origin *origin, int fd) {
  switch (origin->what.kind) {
    case BENCH_PICTURES:
      if (origin->what.delay_ns > 0) return later(origin, fd, origin->what.delay_ns);
      return answer(origin, fd);
    case BENCH_DRIPPING:
      if (write_all(fd, origin->answer, origin->bytes) < 0) return drop(origin, fd);
      return later(origin, fd, drip_ns);
  }
}

static void hear(struct origin *origin, int fd) {
  static const char blank[] = "\r\n\r\n";
  char bytes[1 << 16];
  ssize_t count = recv(fd, bytes, sizeof bytes, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) return drop(origin, fd);
  struct peer *peer = &origin->peers[fd];
  for (ssize_t i = 0; i < count && peer->is_open; i++) {
    peer->seen = bytes[i] == blank[peer->seen] ? peer->seen + 1 : bytes[i] == '\r';
    if (peer->seen < 4) continue;
    peer->seen = 0;
    asked(origin, fd);
  }
}

// Sends what is due; returns the milliseconds until more is, or -1.
static int send_due(struct origin *origin) {
  for (; origin->first != origin->last; origin->first++) {
    int fd = origin->due[origin->first % CONNECTIONS];
    uint64_t now = bench_now_ns(), due = origin->peers[fd].due;
    if (origin->peers[fd].is_open && due > now) return (int)((due - now) / 1000000 + 1);
    if (origin->peers[fd].is_open && due > 0) {
      origin->peers[fd].due = 0;
      answer(origin, fd);
    }
  }
  return -1;
}

// One answer for all: a head with as many fields that say nothing as are wanted, and the body.
static int compose(struct origin *origin, const void *body, size_t bytes) {
  const struct bench_origin *what = &origin->what;
  char *text = malloc(what->head_bytes + NOTE + bytes + 512);
  if (text == NULL) return -1;
  size_t length = (size_t)sprintf(
      text, "HTTP/1.1 %d Answer\r\nContent-Type: image/png\r\nCache-Control: max-age=3600\r\n"
      "Content-Length: %zu\r\n", what->status,
      what->kind == BENCH_DRIPPING ? (size_t)1000000 : bytes);
  for (int i = 0; length < what->head_bytes; i++) {
    length += (size_t)sprintf(text + length, "X-Note-%d: ", i);
    memset(text + length, 'n', NOTE - 20);
    length += NOTE - 20;
    length += (size_t)sprintf(text + length, "\r\n");
  }
  memcpy(text + length, "\r\n", 2);
  length += 2;
  if (what->kind != BENCH_DRIPPING) memcpy(text + length, body, bytes), length += bytes;
  origin->answer = text;
  origin->bytes = length;
  return 0;
}

int bench_origin_serve(const struct bench_origin *what, const void *body, size_t bytes) {
  struct origin *origin = calloc(1, sizeof *origin);
  if (origin == NULL) return -1;
  origin->what = *what;
  origin->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (origin->epoll < 0 || compose(origin, body, bytes) < 0) return -1;
  for (int host = 0; host < what->hosts; host++)
    if (listen_on(origin, host) < 0) return -1;
  bench_raise_descriptor_limit();
  while (1) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(origin->epoll, events, EVENTS, send_due(origin));
    if (count < 0 && errno != EINTR) return -1;
    for (int i = 0; i < count; i++) {
      int fd = (int)(events[i].data.u32 & ~(uint32_t)LISTENER);
      if (events[i].data.u32 & LISTENER) take(origin, fd);
      else hear(origin, fd);
    }
  }
}
