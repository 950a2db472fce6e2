#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int linux_die_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL); }

int linux_give_up_rights(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_DUMPABLE, 0);
}

int linux_has_given_up_rights(void) {
  int signal = 0;
  return prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal == SIGKILL &&
         prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_DUMPABLE) == 0;
}

int linux_keep_descriptor(int fd, int number) {
  int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0) return -1;
  for (int standard = 0; standard <= 2; standard++)
    if (dup2(nothing, standard) < 0) return -1;
  if (fd != number && dup2(fd, number) < 0) return -1;
  return syscall(SYS_close_range, number + 1, ~0U, 0);
}

static int set_limit(int resource, uint64_t most) {
  struct rlimit limit = {most, most};
  return setrlimit(resource, &limit);
}

int linux_limit_process(uint64_t memory, uint64_t file, uint64_t descriptors) {
  if (set_limit(RLIMIT_AS, memory) != 0 || set_limit(RLIMIT_FSIZE, file) != 0) return -1;
  if (set_limit(RLIMIT_NOFILE, descriptors) != 0) return -1;
  return set_limit(RLIMIT_CORE, 0);
}

void linux_lower_priority(int by) { setpriority(PRIO_PROCESS, 0, by); }

void linux_limit_arenas(int most) { mallopt(M_ARENA_MAX, most); }

// The header of an older kernel does not know all of it.
struct all_of_landlock {
  uint64_t files, network, scopes;
};

int linux_give_up_files(void) {
  int version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return -1;
  // The rights to files of each version, then to bind and connect, then abstract sockets and signals.
  int rights = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  struct all_of_landlock all = {.files = (1ULL << rights) - 1};
  size_t size = sizeof all.files;
  if (version >= 4) {
    all.network = 3;
    size += sizeof all.network;
  }
  if (version >= 6) {
    all.scopes = 3;
    size += sizeof all.scopes;
  }
  int rules = syscall(SYS_landlock_create_ruleset, &all, size, 0);
  if (rules < 0) return -1;
  int result = syscall(SYS_landlock_restrict_self, rules, 0);
  close(rules);
  return result;
}

int linux_fork(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  return child;
}

int linux_exec_true(void) {
  char *words[] = {"true", NULL}, *nothing[] = {NULL};
  return execve("/bin/true", words, nothing);
}

int linux_trace(int pid) { return ptrace(PTRACE_ATTACH, pid, NULL, NULL); }
