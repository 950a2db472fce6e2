// The floor: the kernel's cost of a line in and a line out. It reads, counts newlines, and writes as
// many prepared replies: one read and one write for all lines that arrive at once.

#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_AT_ONCE = 1 << 14, REPLIES_AT_ONCE = 256, EVENTS = 256 };

struct replies {
  char *bytes;      // REPLIES_AT_ONCE of them in a row
  size_t each;
};

static int watch(int epoll, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static size_t newlines(const char *bytes, size_t count) {
  size_t found = 0;
  for (const char *at = bytes, *end = bytes + count; at < end; found++) {
    at = memchr(at, '\n', (size_t)(end - at));
    if (at == NULL) break;
    at++;
  }
  return found;
}

static int write_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && errno != EAGAIN) return -1;
    if (written < 0) poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    if (written > 0) bytes += written, count -= (size_t)written;
  }
  return 0;
}

static int answer(int fd, size_t lines, const struct replies *replies) {
  for (size_t some; lines > 0; lines -= some) {
    some = lines < REPLIES_AT_ONCE ? lines : REPLIES_AT_ONCE;
    if (write_all(fd, replies->bytes, some * replies->each) < 0) return -1;
  }
  return 0;
}

static void serve(int fd, const struct replies *replies) {
  char bytes[READ_AT_ONCE];
  ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0 || answer(fd, newlines(bytes, (size_t)count), replies) < 0) close(fd);
}

static void take_all(int epoll, int listener) {
  for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;)
    watch(epoll, fd);
}

static int listen_on(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0) return -1;
  return listen(fd, 4096) < 0 ? -1 : fd;
}

static int make_replies(struct replies *replies, size_t each) {
  static const char yes[] = "{\"ok\":true,";
  *replies = (struct replies){malloc(each * REPLIES_AT_ONCE), each};
  if (replies->bytes == NULL || each == 0) return -1;
  memset(replies->bytes, 'x', each * REPLIES_AT_ONCE);
  for (size_t i = 0; i < REPLIES_AT_ONCE; i++) {
    char *reply = replies->bytes + i * each;
    memcpy(reply, yes, each < sizeof yes ? 0 : sizeof yes - 1);
    reply[each - 1] = '\n';
  }
  return 0;
}

int bench_floor(const char *socket, size_t reply_bytes) {
  struct replies replies;
  int epoll = epoll_create1(EPOLL_CLOEXEC), listener = listen_on(socket);
  if (epoll < 0 || listener < 0 || make_replies(&replies, reply_bytes) < 0) return -1;
  if (watch(epoll, listener) < 0) return -1;
  for (;;) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(epoll, events, EVENTS, -1);
    if (count < 0 && errno != EINTR) return -1;
    for (int i = 0; i < count; i++) {
      if (events[i].data.fd == listener) take_all(epoll, listener);
      else serve(events[i].data.fd, &replies);
    }
  }
}
