// What a service has inherited from its manager.

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

ssize_t linux_listening_path(int fd, char *path, size_t capacity) {
  struct sockaddr_un address;
  socklen_t length = sizeof address, size = sizeof(int);
  int type = 0, listens = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return -1;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) return -1;
  memset(&address, 0, sizeof address);
  if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) return -1;
  if (type != SOCK_STREAM || !listens || address.sun_family != AF_UNIX) {
    errno = EINVAL;
    return -1;
  }
  size_t count = length - offsetof(struct sockaddr_un, sun_path);
  // The kernel counts the end of a path that leaves no room for one.
  if (count > sizeof address.sun_path) count = sizeof address.sun_path;
  if (count == 0 || count > capacity) {
    errno = EINVAL;
    return -1;
  }
  memcpy(path, address.sun_path, count);
  if (path[0] == 0) path[0] = '@';
  else count = strnlen(path, count);
  return (ssize_t)count;
}
