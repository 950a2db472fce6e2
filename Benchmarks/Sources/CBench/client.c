#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

// A socket that is connected to a path, or bound to it; -1 and errno on failure.
static int open_at(const char *path, int is_server) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  int result = is_server ? bind(fd, (struct sockaddr *)&address, sizeof address)
                         : connect(fd, (struct sockaddr *)&address, sizeof address);
  if (result == 0) return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

int bench_connect(const char *path) { return open_at(path, 0); }

// Limits and shares are by user, so an attacker is another one than its victim, where it can be.
int bench_connect_as(const char *path, int user) {
  int may = geteuid() == 0 && user != 0;
  if (may && seteuid((uid_t)user) < 0) return -1;
  int fd = bench_connect(path), reason = errno;
  if (may && seteuid(0) < 0) abort();
  errno = reason;
  return fd;
}

int bench_listen(const char *path) {
  unlink(path);
  int fd = open_at(path, 1);
  if (fd >= 0) listen(fd, 8);
  return fd;
}

// The next line that has `word` of those that are said on a connection; 0 at its end.
static size_t find_line(int fd, const char *word, char *line, size_t capacity) {
  size_t length = 0;
  for (ssize_t count; length < capacity && (count = recv(fd, line + length, capacity - length, 0)) > 0;) {
    length += (size_t)count;
    for (char *end; (end = memchr(line, '\n', length)); memmove(line, end + 1, length)) {
      if (memmem(line, (size_t)(end - line), word, strlen(word))) return (size_t)(end - line);
      length -= (size_t)(end + 1 - line);
    }
  }
  return 0;
}

size_t bench_record(int listener, const char *word, char *line, size_t capacity) {
  struct timeval patience = {.tv_sec = 10};
  setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  for (int tries = 0, fd; tries < 4 && (fd = accept(listener, NULL, NULL)) >= 0; tries++) {
    struct timeval moment = {.tv_sec = 3};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
    size_t length = find_line(fd, word, line, capacity);
    close(fd);
    if (length > 0) return length;
  }
  return 0;
}

static ssize_t receive_line(int fd, char *reply, size_t capacity) {
  size_t length = 0;
  while (length < capacity) {
    ssize_t count = recv(fd, reply + length, capacity - length, 0);
    if (count <= 0) return -1;
    char *newline = memchr(reply + length, '\n', (size_t)count);
    if (newline) return newline - reply;
    length += (size_t)count;
  }
  return (ssize_t)length;
}

ssize_t bench_ask(const char *socket, const char *line, char *reply, size_t capacity) {
  int fd = bench_connect(socket);
  if (fd < 0) return -1;
  struct timeval patience = {.tv_sec = 30};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  size_t bytes = strlen(line);
  ssize_t length = -1;
  if (send(fd, line, bytes, MSG_NOSIGNAL) == (ssize_t)bytes && send(fd, "\n", 1, MSG_NOSIGNAL) == 1)
    length = receive_line(fd, reply, capacity);
  close(fd);
  return length;
}
