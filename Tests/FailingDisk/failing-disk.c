// A disk that fails, as a library that is loaded before a program: what is written below PLACE has the error whose number is
// in the file FAULT, as long as there is one.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// The system is called directly: these functions are those that are replaced.
static int has_failed(int fd) {
  char text[16] = "", link[32], path[4096];
  int file = syscall(SYS_openat, AT_FDCWD, FAULT, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t count = syscall(SYS_readlink, link, path, sizeof path);
  if (count < (ssize_t)strlen(PLACE) || strncmp(path, PLACE, strlen(PLACE)) != 0) return 0;
  errno = atoi(text);
  return 1;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  return has_failed(fd) ? -1 : syscall(SYS_write, fd, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  return has_failed(fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, count, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }

ssize_t writev(int fd, const struct iovec *pieces, int count) {
  return has_failed(fd) ? -1 : syscall(SYS_writev, fd, pieces, count);
}

int fallocate(int fd, int mode, off_t at, off_t count) {
  return has_failed(fd) ? -1 : syscall(SYS_fallocate, fd, mode, at, count);
}
