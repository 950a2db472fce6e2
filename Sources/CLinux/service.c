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

// Whether only programs of this machine have such an address.
static int is_loopback(const struct sockaddr_storage *address) {
  if (address->ss_family == AF_INET)
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
  return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

// An IPv4 address that a socket of both families has wrapped, as itself.
static void unwrap(struct sockaddr_storage *address) {
  const struct sockaddr_in6 in6 = *(const struct sockaddr_in6 *)address;
  if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) return;
  struct sockaddr_in *in = (struct sockaddr_in *)address;
  in->sin_family = AF_INET;
  in->sin_port = in6.sin6_port;
  memcpy(&in->sin_addr, in6.sin6_addr.s6_addr + 12, sizeof in->sin_addr);
}

int linux_listening_port(int fd, int *loopback) {
  struct sockaddr_storage address;
  ssize_t length = listening_address(fd, &address, sizeof address);
  if (length < 0) return -1;
  if (length > 0) *loopback = is_loopback(&address);
  if (length > 0 && address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  if (length > 0 && address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
  errno = EINVAL;
  return -1;
}

int linux_remote_address(int fd, char *text, size_t capacity) {
  struct sockaddr_storage address = {0};
  socklen_t length = sizeof address;
  if (getpeername(fd, (struct sockaddr *)&address, &length) != 0) return -1;
  unwrap(&address);
  if (is_loopback(&address)) return 0;
  const void *number = address.ss_family == AF_INET ? (const void *)&((struct sockaddr_in *)&address)->sin_addr
                                                    : (const void *)&((struct sockaddr_in6 *)&address)->sin6_addr;
  return inet_ntop(address.ss_family, number, text, capacity) ? 1 : -1;
}

static socklen_t read_address(const char *text, int port, struct sockaddr_storage *address) {
  struct sockaddr_in *in = (struct sockaddr_in *)address;
  struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
  memset(address, 0, sizeof *address);
  if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)port);
    return sizeof *in;
  }
  if (inet_pton(AF_INET6, text, &in6->sin6_addr) != 1) return 0;
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons((uint16_t)port);
  return sizeof *in6;
}

int linux_is_loopback(const char *address) {
  struct sockaddr_storage storage;
  return read_address(address, 0, &storage) != 0 && is_loopback(&storage);
}

int linux_listen_port(const char *text, int port) {
  struct sockaddr_storage address;
  socklen_t length = read_address(text, port, &address);
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
