// What a service has inherited from its manager.

#define _GNU_SOURCE
#include "CLinux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// The address of a stream socket that listens: its length, 0 for a socket of another kind, -1 for none.
static ssize_t listening_address(int fd, void *address, socklen_t length) {
  socklen_t size = sizeof(int);
  int type = 0, listens = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return -1;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) return -1;
  memset(address, 0, length);
  if (getsockname(fd, address, &length) != 0) return -1;
  return type == SOCK_STREAM && listens ? (ssize_t)length : 0;
}

ssize_t linux_listening_path(int fd, char *path, size_t capacity) {
  struct sockaddr_un address;
  ssize_t length = listening_address(fd, &address, sizeof address);
  if (length < 0) return -1;
  if (length == 0 || address.sun_family != AF_UNIX) {
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

// The port of an address that only programs of this machine can reach; -1 for any other.
static int loopback_port(const struct sockaddr_storage *address) {
  if (address->ss_family == AF_INET) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)address;
    if (ntohl(in->sin_addr.s_addr) >> 24 == 127) return ntohs(in->sin_port);
  } else if (address->ss_family == AF_INET6) {
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
    if (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr)) return ntohs(in6->sin6_port);
  }
  errno = EINVAL;
  return -1;
}

int linux_listening_port(int fd) {
  struct sockaddr_storage address;
  ssize_t length = listening_address(fd, &address, sizeof address);
  if (length < 0) return -1;
  if (length > 0) return loopback_port(&address);
  errno = EINVAL;
  return -1;
}

static socklen_t loopback_address(const char *text, int port, struct sockaddr_storage *address) {
  struct sockaddr_in *in = (struct sockaddr_in *)address;
  struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
  memset(address, 0, sizeof *address);
  if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)port);
    return loopback_port(address) < 0 ? 0 : sizeof *in;
  }
  if (inet_pton(AF_INET6, text, &in6->sin6_addr) != 1) return 0;
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons((uint16_t)port);
  return loopback_port(address) < 0 ? 0 : sizeof *in6;
}

int linux_is_loopback(const char *address) {
  struct sockaddr_storage storage;
  return loopback_address(address, 0, &storage) != 0;
}

int linux_listen_loopback(const char *text, int port) {
  struct sockaddr_storage address;
  socklen_t length = loopback_address(text, port, &address);
  int on = 1;
  if (!length) {
    errno = EINVAL;
    return -1;
  }
  int number = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (number < 0) return -1;
  if (setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0
      && bind(number, (struct sockaddr *)&address, length) == 0 && listen(number, SOMAXCONN) == 0) {
    return number;
  }
  int code = errno;
  close(number);
  errno = code;
  return -1;
}
