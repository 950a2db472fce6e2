#define _GNU_SOURCE
#include "test_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/landlock.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int test_enter_network_of(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
  int namespace = open(path, O_RDONLY | O_CLOEXEC);
  if (namespace < 0) return -1;
  int result = setns(namespace, CLONE_NEWNET);
  close(namespace);
  return result;
}

int test_make_network(void) {
  if (unshare(CLONE_NEWNET) != 0) return -1;
  return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

int test_enter_network(int network) { return setns(network, CLONE_NEWNET); }

int test_open_tunnel(const char *name) {
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  int tunnel = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (tunnel < 0) return -1;
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(tunnel, TUNSETIFF, &request) == 0) return tunnel;
  int reason = errno;
  close(tunnel);
  errno = reason;
  return -1;
}

int test_cover_directory(const char *path) {
  if (unshare(CLONE_NEWNS) != 0) return -1;
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return -1;
  return mount("none", path, "tmpfs", 0, NULL);
}

int test_own_descriptors(void) { return unshare(CLONE_FILES); }

int test_hold_thread(int tid) {
  int status;
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0) return -1;
  if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0) return -1;
  return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) ? 0 : -1;
}

int test_release_thread(int tid) { return ptrace(PTRACE_DETACH, tid, 0, 0) < 0 ? -1 : 0; }

int test_has_thread_ended(int tid) {
  int status;
  return waitpid(tid, &status, __WALL | WNOHANG) == tid && !WIFSTOPPED(status);
}

void test_close_from(void *actions, int first) {
  posix_spawn_file_actions_addclosefrom_np(actions, first);
}

long test_send(int socket, const void *bytes, unsigned long count, const int *numbers, int attached) {
  union {
    char bytes[CMSG_SPACE(8 * sizeof(int))];
    struct cmsghdr alignment;
  } room = {0};
  struct iovec piece = {(void *)bytes, count};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  if (attached > 0) {
    message.msg_control = room.bytes;
    message.msg_controllen = CMSG_SPACE(attached * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(attached * sizeof(int));
    memcpy(CMSG_DATA(header), numbers, attached * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

int test_landlock_version(void) {
  return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

int test_open_terminal(int *slave) {
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return -1;
  char name[64];
  if (grantpt(master) == 0 && unlockpt(master) == 0 && ptsname_r(master, name, sizeof name) == 0) {
    *slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*slave >= 0) return master;
  }
  int error = errno;
  close(master);
  errno = error;
  return -1;
}

int test_memfd(void) { return memfd_create("handed", MFD_CLOEXEC | MFD_ALLOW_SEALING); }
