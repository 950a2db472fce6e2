#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static uint32_t to_epoll(uint32_t interest) {
  uint32_t events = 0;
  if (interest & LINUX_READ) events |= EPOLLIN | EPOLLRDHUP;
  if (interest & LINUX_WRITE) events |= EPOLLOUT;
  if (interest & LINUX_PRIORITY) events |= EPOLLPRI;
  if (interest & LINUX_EDGE) events |= EPOLLET;
  return events;
}

static uint32_t from_epoll(uint32_t events) {
  uint32_t ready = 0;
  if (events & EPOLLIN) ready |= LINUX_READ;
  if (events & EPOLLOUT) ready |= LINUX_WRITE;
  if (events & (EPOLLHUP | EPOLLERR)) ready |= LINUX_HANGUP;
  if (events & EPOLLRDHUP) ready |= LINUX_HALF_CLOSED;
  if (events & EPOLLPRI) ready |= LINUX_PRIORITY;
  return ready;
}

int linux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int epoll, int operation, int fd, uint32_t interest, uint64_t token) {
  struct epoll_event event = {.events = to_epoll(interest), .data.u64 = token};
  return epoll_ctl(epoll, operation, fd, &event);
}

int linux_epoll_add(int epoll, int fd, uint32_t interest, uint64_t token) {
  return control(epoll, EPOLL_CTL_ADD, fd, interest, token);
}

int linux_epoll_modify(int epoll, int fd, uint32_t interest, uint64_t token) {
  return control(epoll, EPOLL_CTL_MOD, fd, interest, token);
}

int linux_epoll_remove(int epoll, int fd) {
  return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
}

int linux_wait(int fd, uint32_t interest, int64_t timeout_ns) {
  struct pollfd wanted = {.fd = fd, .events = (interest & LINUX_READ ? POLLIN : 0) | (interest & LINUX_WRITE ? POLLOUT : 0)};
  struct timespec limit = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
  return ppoll(&wanted, 1, timeout_ns < 0 ? NULL : &limit, NULL);
}

int linux_epoll_wait(int epoll, struct linux_ready *ready, int capacity, int64_t timeout_ns) {
  struct epoll_event events[256];
  if (capacity > 256) capacity = 256;
  int count;
  if (timeout_ns == 0) {
    count = epoll_wait(epoll, events, capacity, 0);
  } else {
    struct timespec limit = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    count = epoll_pwait2(epoll, events, capacity, timeout_ns < 0 ? NULL : &limit, NULL);
    if (count < 0 && errno == ENOSYS) {
      int64_t up = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
      int milliseconds = timeout_ns < 0 ? -1 : up > INT_MAX ? INT_MAX : (int)up;
      count = epoll_wait(epoll, events, capacity, milliseconds);
    }
  }
  for (int i = 0; i < count; i++) {
    ready[i].token = events[i].data.u64;
    ready[i].events = from_epoll(events[i].events);
  }
  return count;
}

int linux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int linux_memfd(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

static const int all_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

int linux_seal(int fd) { return fcntl(fd, F_ADD_SEALS, all_seals); }

// The kernel may have added F_SEAL_EXEC.
int linux_is_sealed(int fd) {
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & all_seals) == all_seals;
}

// Held open as long as the process runs: a name in it is found sooner than a path from the root.
static int own_descriptors = -1;

static void open_own_descriptors(void) {
  own_descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int linux_own_descriptors(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_own_descriptors);
  return own_descriptors;
}

int linux_reopen_read_only(int fd) {
  char name[16];
  snprintf(name, sizeof name, "%d", fd);
  return openat(linux_own_descriptors(), name, O_RDONLY | O_CLOEXEC);
}

int linux_duplicate(int fd) {
  return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int linux_accept(int listener) {
  return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int linux_peer(int fd, pid_t *pid, uid_t *uid, gid_t *gid) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  *pid = peer.pid;
  *uid = peer.uid;
  *gid = peer.gid;
  return 0;
}

int linux_unix_socket(void) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static int unix_address(const char *path, struct sockaddr_un *address) {
  size_t length = strlen(path);
  if (length >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  // An empty name would be in the abstract name space, which is open to every user.
  if (length == 0) {
    errno = ENOENT;
    return -1;
  }
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, path, length + 1);
  return 0;
}

int linux_bind_unix(int fd, const char *path) {
  struct sockaddr_un address;
  if (unix_address(path, &address) != 0) return -1;
  return bind(fd, (struct sockaddr *)&address, sizeof address);
}

int linux_connect_unix(int fd, const char *path) {
  struct sockaddr_un address;
  if (unix_address(path, &address) != 0) return -1;
  return connect(fd, (struct sockaddr *)&address, sizeof address);
}

int linux_lock_exclusive(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }
int linux_unlock(int fd) { return flock(fd, LOCK_UN); }

int linux_random(void *bytes, size_t count) {
  ssize_t got = getrandom(bytes, count, 0);
  return got == (ssize_t)count ? 0 : -1;
}

int linux_gettid(void) { return gettid(); }

void linux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

void linux_trim_heap(void) { malloc_trim(0); }
void linux_merge_freed(void) { mallopt(M_MXFAST, 0); }

void linux_keep_freed(size_t most) {
  mallopt(M_TRIM_THRESHOLD, (int)most);
  // It would be 128 KiB from then on, and each larger piece would come from the kernel and go back there.
  mallopt(M_MMAP_THRESHOLD, (int)most);
}

int linux_set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

ssize_t linux_send(int socket, const void *bytes, size_t count, int fd) {
  if (fd < 0) return send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  struct iovec piece = {.iov_base = (void *)bytes, .iov_len = count};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr alignment;
  } room;
  memset(&room, 0, sizeof room);
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t linux_receive(int socket, void *bytes, size_t capacity) {
  // Without a control buffer the kernel closes attached descriptors.
  return recv(socket, bytes, capacity, MSG_DONTWAIT);
}

void linux_set_up(struct linux_reader *reader, void *bytes, size_t capacity) {
  memset(reader, 0, sizeof *reader);
  reader->piece = (struct iovec){.iov_base = bytes, .iov_len = capacity};
  reader->message.msg_iov = &reader->piece;
  reader->message.msg_iovlen = 1;
  reader->message.msg_control = reader->control;
}

ssize_t linux_receive_handed(int socket, struct linux_reader *reader) {
  reader->message.msg_controllen = sizeof reader->control;
  return recvmsg(socket, &reader->message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
}

int linux_take_handed(struct linux_reader *reader, int fds[LINUX_MOST_HANDED]) {
  int count = 0;
  struct msghdr *message = &reader->message;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t arrived = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < arrived && count < LINUX_MOST_HANDED; i++)
      memcpy(&fds[count++], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
  }
  if (message->msg_flags & MSG_CTRUNC && count < LINUX_MOST_HANDED) fds[count++] = -1;
  message->msg_controllen = 0;
  message->msg_flags = 0;
  return count;
}

ssize_t linux_receive_with_fd(int socket, void *bytes, size_t capacity, int *fd) {
  struct iovec piece = {.iov_base = bytes, .iov_len = capacity};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr alignment;
  } room;
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
  // CMSG_SPACE has room for a second descriptor, which would come in and never be closed.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  *fd = -1;
  ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
      memcpy(fd, CMSG_DATA(header), sizeof *fd);
  if (!(message.msg_flags & MSG_CTRUNC)) return count;
  // A descriptor is lost, and with it the order in which the later ones belong to their lines.
  if (*fd >= 0) close(*fd);
  *fd = -1;
  errno = EMFILE;
  return -1;
}

int linux_message_pair(int ends[2]) {
  return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

ssize_t linux_receive_message(
    int socket, void *bytes, size_t capacity, int fds[LINUX_MOST_DESCRIPTORS], int *count, int waits) {
  union {
    char bytes[CMSG_SPACE(LINUX_MOST_DESCRIPTORS * sizeof(int))];
    struct cmsghdr alignment;
  } room;
  struct iovec piece = {.iov_base = bytes, .iov_len = capacity};
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
  *count = 0;
  ssize_t got;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
  while (got < 0 && errno == EINTR && waits);
  if (got < 0) return got;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t arrived = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < arrived && *count < LINUX_MOST_DESCRIPTORS; i++)
      memcpy(&fds[(*count)++], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
  }
  if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
    while (*count > 0) close(fds[--*count]);
    errno = EMSGSIZE;
    return -1;
  }
  return got;
}

off_t linux_length(int fd) { return lseek(fd, 0, SEEK_END); }

static sigset_t to_set(uint64_t mask) {
  sigset_t set;
  sigemptyset(&set);
  for (int number = 1; number < 64; number++)
    if (mask & (1ull << number)) sigaddset(&set, number);
  return set;
}

int linux_block_signals(uint64_t mask) {
  sigset_t set = to_set(mask);
  return sigprocmask(SIG_BLOCK, &set, NULL);
}

int linux_signal_fd(uint64_t mask) {
  sigset_t set = to_set(mask);
  return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int linux_next_signal(int fd) {
  struct signalfd_siginfo info;
  ssize_t count = read(fd, &info, sizeof info);
  return count == sizeof info ? (int)info.ssi_signo : 0;
}

static int64_t nanoseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t linux_monotonic_ns(void) { return nanoseconds(CLOCK_MONOTONIC); }
int64_t linux_realtime_ns(void) { return nanoseconds(CLOCK_REALTIME); }
