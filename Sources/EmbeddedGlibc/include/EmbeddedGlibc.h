// Embedded Swift has no module of the C library. This one has the name of that of the toolchain, so that the
// same sources build with either. What C has as a macro or variadic, Swift cannot import: it is a function or
// a constant here, with the type that the toolchain's module gives it.
#ifndef IMGD_EMBEDDED_GLIBC_H
#define IMGD_EMBEDDED_GLIBC_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <grp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SWIFT_NAME(name) __attribute__((swift_name(name)))

static inline int glibc_errno(void) SWIFT_NAME("getter:errno()");
static inline int glibc_errno(void) { return errno; }

static inline void glibc_set_errno(int number) SWIFT_NAME("setter:errno(_:)");
static inline void glibc_set_errno(int number) { errno = number; }

static inline int glibc_open(const char *_Nonnull path, int flags) SWIFT_NAME("open(_:_:)");
static inline int glibc_open(const char *_Nonnull path, int flags) { return open(path, flags); }

static inline int glibc_create(const char *_Nonnull path, int flags, mode_t mode) SWIFT_NAME("open(_:_:_:)");
static inline int glibc_create(const char *_Nonnull path, int flags, mode_t mode) {
  return open(path, flags, mode);
}

static inline int glibc_openat(int directory, const char *_Nonnull path, int flags) SWIFT_NAME("openat(_:_:_:)");
static inline int glibc_openat(int directory, const char *_Nonnull path, int flags) {
  return openat(directory, path, flags);
}

static inline int glibc_createat(int directory, const char *_Nonnull path, int flags, mode_t mode)
  SWIFT_NAME("openat(_:_:_:_:)");
static inline int glibc_createat(int directory, const char *_Nonnull path, int flags, mode_t mode) {
  return openat(directory, path, flags, mode);
}

static inline int glibc_fcntl(int fd, int command) SWIFT_NAME("fcntl(_:_:)");
static inline int glibc_fcntl(int fd, int command) { return fcntl(fd, command); }

static inline int glibc_fcntl_with(int fd, int command, int value) SWIFT_NAME("fcntl(_:_:_:)");
static inline int glibc_fcntl_with(int fd, int command, int value) { return fcntl(fd, command, value); }

static inline int glibc_ioctl(int fd, unsigned long request, void *_Nonnull argument) SWIFT_NAME("ioctl(_:_:_:)");
static inline int glibc_ioctl(int fd, unsigned long request, void *_Nonnull argument) {
  return ioctl(fd, request, argument);
}

static inline void *_Nullable glibc_map_failed(void) SWIFT_NAME("getter:MAP_FAILED()");
static inline void *_Nullable glibc_map_failed(void) { return MAP_FAILED; }

static inline sighandler_t _Nonnull glibc_ignore_signal(void) SWIFT_NAME("getter:SIG_IGN()");
static inline sighandler_t _Nonnull glibc_ignore_signal(void) { return SIG_IGN; }

static inline sighandler_t _Nullable glibc_usual_signal(void) SWIFT_NAME("getter:SIG_DFL()");
static inline sighandler_t _Nullable glibc_usual_signal(void) { return SIG_DFL; }

#undef MAP_FAILED
#undef SIG_IGN
#undef SIG_DFL
#undef S_IFMT
#undef S_IFBLK
#undef S_IFCHR
#undef S_IFDIR
#undef S_IFIFO
#undef S_IFLNK
#undef S_IFREG
#undef S_IFSOCK
#undef S_ISGID
#undef S_ISUID
static const mode_t S_IFMT = __S_IFMT;
static const mode_t S_IFBLK = __S_IFBLK;
static const mode_t S_IFCHR = __S_IFCHR;
static const mode_t S_IFDIR = __S_IFDIR;
static const mode_t S_IFIFO = __S_IFIFO;
static const mode_t S_IFLNK = __S_IFLNK;
static const mode_t S_IFREG = __S_IFREG;
static const mode_t S_IFSOCK = __S_IFSOCK;
static const mode_t S_ISGID = __S_ISGID;
static const mode_t S_ISUID = __S_ISUID;

#undef SWIFT_NAME

#endif
