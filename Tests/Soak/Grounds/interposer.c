// A disk that fails and a clock that jumps, as one program sees them: preloaded into the daemon, it answers for glibc as
// the mapped file of $SOAK_FAULTS says, which the harness writes to. Only what lies on the named device fails.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WELL, WRITES_FAIL, QUOTA, READS_FAIL };

// Interposer.swift knows this layout.
struct orders {
  uint64_t device;
  int64_t clock_ahead_s;
  uint64_t failed;
  uint32_t disk;
};

static struct orders none;
static volatile struct orders *orders = &none;

__attribute__((constructor)) static void open_orders(void) {
  const char *path = getenv("SOAK_FAULTS");
  // Decoders inherit the environment, and have neither the disk nor the clock.
  if (!path || strcmp(program_invocation_short_name, "imgd") != 0) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) abort();
  void *map = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) abort();
  orders = map;
  close(fd);
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int fail(int code) {
  __atomic_fetch_add(&orders->failed, 1, __ATOMIC_RELAXED);
  errno = code;
  return -1;
}

static int is_there(const struct stat *status) { return status->st_dev == orders->device; }

static int is_file_there(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_there(&status);
}

// Of a name that need not be there yet, its directory is asked.
static int is_name_there(int directory, const char *path) {
  struct stat status;
  if (fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0) return is_there(&status);
  char parent[4096];
  const char *slash = strrchr(path, '/');
  if (!slash) return (directory == AT_FDCWD ? stat(".", &status) : fstat(directory, &status)) == 0 && is_there(&status);
  size_t length = slash - path;
  if (length >= sizeof parent) return 0;
  memcpy(parent, path, length);
  parent[length] = 0;
  return fstatat(directory, length ? parent : "/", &status, 0) == 0 && is_there(&status);
}

// The error that a write meets now; 0 for none.
static int write_error(void) { return orders->disk == WRITES_FAIL ? EIO : orders->disk == QUOTA ? EDQUOT : 0; }

static int write_fails(int fd) { return write_error() && is_file_there(fd); }
static int read_fails(int fd) { return orders->disk == READS_FAIL && is_file_there(fd); }
static int change_fails(int directory, const char *path) { return write_error() && is_name_there(directory, path); }

// MARK: Writing

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(write);
  return write_fails(fd) ? fail(write_error()) : real(fd, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  REAL(pwrite64);
  return write_fails(fd) ? fail(write_error()) : real(fd, bytes, count, offset);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return write_fails(fd) ? fail(write_error()) : real(fd);
}

int ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  return write_fails(fd) ? fail(write_error()) : real(fd, length);
}

int ftruncate64(int fd, off64_t length) {
  REAL(ftruncate64);
  return write_fails(fd) ? fail(write_error()) : real(fd, length);
}

// MARK: Names

static mode_t mode_of(int flags, va_list rest) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest); \
    REAL(name); \
    return flags & O_CREAT && change_fails(AT_FDCWD, path) ? fail(write_error()) : real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

int openat(int directory, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  REAL(openat);
  return flags & O_CREAT && change_fails(directory, path) ? fail(write_error()) : real(directory, path, flags, mode);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  REAL(renameat2);
  return change_fails(from, old) ? fail(write_error()) : real(from, old, to, new, flags);
}

int rename(const char *old, const char *new) {
  REAL(rename);
  return change_fails(AT_FDCWD, old) ? fail(write_error()) : real(old, new);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
  REAL(linkat);
  return change_fails(to, new) ? fail(write_error()) : real(from, old, to, new, flags);
}

int unlinkat(int directory, const char *path, int flags) {
  REAL(unlinkat);
  return change_fails(directory, path) ? fail(write_error()) : real(directory, path, flags);
}

int unlink(const char *path) {
  REAL(unlink);
  return change_fails(AT_FDCWD, path) ? fail(write_error()) : real(path);
}

int mkdirat(int directory, const char *path, mode_t mode) {
  REAL(mkdirat);
  return change_fails(directory, path) ? fail(write_error()) : real(directory, path, mode);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  return change_fails(AT_FDCWD, path) ? fail(write_error()) : real(path, mode);
}

// MARK: Reading

ssize_t read(int fd, void *bytes, size_t count) {
  REAL(read);
  return read_fails(fd) ? fail(EIO) : real(fd, bytes, count);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
  REAL(pread);
  return read_fails(fd) ? fail(EIO) : real(fd, bytes, count, offset);
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset) {
  REAL(pread64);
  return read_fails(fd) ? fail(EIO) : real(fd, bytes, count, offset);
}

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
  REAL(preadv2);
  return read_fails(fd) ? fail(EIO) : real(fd, parts, count, offset, flags);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
  REAL(sendfile);
  return read_fails(from) ? fail(EIO) : real(to, from, offset, count);
}

// MARK: The clock

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(clock_gettime);
  int code = real(clock, now);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += orders->clock_ahead_s;
  return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  REAL(gettimeofday);
  int code = real(now, zone);
  if (code == 0) now->tv_sec += orders->clock_ahead_s;
  return code;
}

time_t time(time_t *place) {
  REAL(time);
  time_t now = real(NULL) + orders->clock_ahead_s;
  if (place) *place = now;
  return now;
}
