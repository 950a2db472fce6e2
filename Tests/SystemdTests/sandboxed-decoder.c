// What a decoder of imgd's own does before it reads a picture: it runs as a program of its own,
// shares memory with its parent, and gives up what it will not need. The parent ends it in time.
// Ends with 1, and says which step failed, when a unit does not leave that to it.

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(step)       \
  do {                   \
    if (!(step)) {       \
      perror(#step);     \
      exit(1);           \
    }                    \
  } while (0)

static void limit(int resource, rlim_t most) {
  struct rlimit limit = {most, most};
  MUST(setrlimit(resource, &limit) == 0);
}

static void give_up_files(void) {
  struct landlock_ruleset_attr all = {.handled_access_fs = (1ULL << 13) - 1};
  int rules = syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
  MUST(rules >= 0);
  struct landlock_path_beneath_attr libraries = {
      .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = open("/usr/lib", O_PATH)};
  MUST(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &libraries, 0) == 0);
  MUST(syscall(SYS_landlock_restrict_self, rules, 0) == 0);
  MUST(open("/etc/passwd", O_RDONLY) < 0);
}

static void give_up_sockets(void) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
  MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
  MUST(socket(AF_UNIX, SOCK_STREAM, 0) < 0);
}

static int decode(int channel) {
  limit(RLIMIT_AS, 1 << 30);
  limit(RLIMIT_CPU, 10);
  limit(RLIMIT_CORE, 0);
  MUST(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  MUST(prctl(PR_SET_DUMPABLE, 0) == 0);
  int pixels = memfd_create("pixels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  MUST(pixels >= 0 && ftruncate(pixels, 1 << 20) == 0);
  give_up_files();
  give_up_sockets();
  MUST(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, pixels, 0) != MAP_FAILED);
  MUST(send(channel, "ready", 5, 0) == 5);
  return pause();
}

int main(int count, char **words) {
  if (count > 1) return decode(atoi(words[1]));

  int ends[2];
  char number[16], said[16], *arguments[] = {"decoder", number, NULL}, *nothing[] = {NULL};
  MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  snprintf(number, sizeof number, "%d", ends[1]);
  pid_t decoder;
  MUST(posix_spawn(&decoder, "/proc/self/exe", NULL, NULL, arguments, nothing) == 0);
  close(ends[1]);
  MUST(recv(ends[0], said, sizeof said, 0) == 5);
  int handle = syscall(SYS_pidfd_open, decoder, 0);
  MUST(handle >= 0);
  MUST(syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0) == 0);
  struct pollfd end = {handle, POLLIN, 0};
  MUST(poll(&end, 1, 5000) == 1);
  MUST(waitpid(decoder, NULL, 0) == decoder);
  return 0;
}
