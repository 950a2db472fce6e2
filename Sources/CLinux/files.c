#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Does not wait for a FIFO, does not acquire a terminal, and does not follow a link.
static int to_flags(int opening) {
  int common = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (opening == LINUX_OPEN_DIRECTORY) return O_RDONLY | O_DIRECTORY | common;
  if (opening == LINUX_OPEN_STATUS) return O_PATH | O_NOFOLLOW | O_CLOEXEC;
  return O_RDONLY | common;
}

int linux_open_beneath(int directory, const char *path, int opening, int may_wait) {
  struct open_how how = {
      .flags = to_flags(opening),
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | (may_wait ? 0 : RESOLVE_CACHED)};
  return syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int linux_open_by_steps(int directory, const char *path, int opening) {
  char name[NAME_MAX + 1];
  int here = directory;
  for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
    size_t length = slash - path;
    if (length > NAME_MAX) {
      errno = ENAMETOOLONG;
      break;
    }
    memcpy(name, path, length);
    name[length] = 0;
    int next = openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (here != directory) close(here);
    if (next < 0) return -1;
    here = next;
  }
  int file = strchr(path, '/') ? -1 : openat(here, path, to_flags(opening));
  int reason = errno;
  if (here != directory) close(here);
  errno = reason;
  return file;
}

ssize_t linux_read_at_hand(int fd, void *bytes, size_t count, off_t start) {
  struct iovec room = {.iov_base = bytes, .iov_len = count};
  return preadv2(fd, &room, 1, start, RWF_NOWAIT);
}

int linux_open_unnamed(int directory, mode_t mode) {
  return openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

int linux_link_unnamed(int fd, int directory, const char *name) {
  // Needs a capability or, from Linux 6.10 on, a descriptor that this process has opened.
  if (linkat(fd, "", directory, name, AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOENT) return -1;
  char own[16];
  snprintf(own, sizeof own, "%d", fd);
  return linkat(linux_own_descriptors(), own, directory, name, AT_SYMLINK_FOLLOW);
}

int linux_status(int fd, void *status) {
#if defined __x86_64__ || defined __aarch64__
  // There the kernel fills in the same structure.
  return syscall(SYS_fstat, fd, status);
#else
  return fstat(fd, status);
#endif
}

int linux_rename_new(int directory, const char *name, const char *new_name) {
  return renameat2(directory, name, directory, new_name, RENAME_NOREPLACE);
}

ssize_t linux_send_file(int target, int source, off_t offset, size_t count) {
  return sendfile(target, source, &offset, count);
}
