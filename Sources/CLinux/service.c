// What a service says to its manager: datagrams, with descriptors beside them.

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <fcntl.h>

int linux_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

// A name that begins with @ is one of the kernel's own, and in no file system.
static socklen_t address_of(const char *name, struct sockaddr_un *address) {
  size_t length = strlen(name);
  if (length < 2 || length >= sizeof address->sun_path) return 0;
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, name, length);
  if (name[0] != '@') return offsetof(struct sockaddr_un, sun_path) + length + 1;
  address->sun_path[0] = 0;
  return offsetof(struct sockaddr_un, sun_path) + length;
}

ssize_t linux_send_to(int socket, const char *name, const void *bytes, size_t count, const int *fds,
                      size_t fd_count) {
  struct sockaddr_un address;
  socklen_t length = address_of(name, &address);
  if (length == 0 || fd_count > LINUX_MOST_DESCRIPTORS) {
    errno = EINVAL;
    return -1;
  }
  struct iovec piece = {.iov_base = (void *)bytes, .iov_len = count};
  struct msghdr message = {
      .msg_name = &address, .msg_namelen = length, .msg_iov = &piece, .msg_iovlen = 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int) * LINUX_MOST_DESCRIPTORS)];
    struct cmsghdr alignment;
  } room;
  if (fd_count > 0) {
    memset(&room, 0, sizeof room);
    message.msg_control = room.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
    memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

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

int linux_pipe(int *reading, int *writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  *reading = ends[0];
  *writing = ends[1];
  return 0;
}
