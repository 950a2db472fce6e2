#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int bench_connect(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
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
