// Programs that this one starts, and their ends.

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { channel_number = 3 };

// Descriptors: nothing but the channel. It is moved first, since it may have a number below three.
static int add_descriptors(posix_spawn_file_actions_t *actions, int channel) {
  int error = posix_spawn_file_actions_adddup2(actions, channel, channel_number);
  for (int number = 0; number < channel_number && !error; number++)
    error = posix_spawn_file_actions_addopen(actions, number, "/dev/null", O_RDWR, 0);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, channel_number + 1);
  return error;
}

// Signals: as a program expects them. In a group of its own, so that a terminal's go to the parent alone.
static int set_signals(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawnattr_setsigmask(attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(attributes, &all);
  if (!error) error = posix_spawnattr_setpgroup(attributes, 0);
  if (!error)
    error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  return error;
}

static int spawn(pid_t *pid, const char *path, char *const arguments[], int channel) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  posix_spawnattr_t attributes;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    // A crash is to end a program, and not to begin an inquiry that takes longer than its work.
    char *const environment[] = {"SWIFT_BACKTRACE=enable=no", NULL};
    error = add_descriptors(&actions, channel);
    if (!error) error = set_signals(&attributes);
    if (!error) error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int linux_spawn(const char *path, char *const arguments[], int channel, pid_t *pid) {
  int error = spawn(pid, path, arguments, channel);
  if (error) {
    errno = error;
    return -1;
  }
  int process = syscall(SYS_pidfd_open, *pid, 0);
  if (process >= 0) return process;
  error = errno;
  kill(*pid, SIGKILL);
  while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) {}
  errno = error;
  return -1;
}

int linux_kill(int process) { return syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0); }

int linux_reap(int process, int waits, int *code) {
  // The headers name P_PIDFD in an enumeration only since glibc 2.36.
  const idtype_t by_descriptor = 3;
  siginfo_t info = {0};
  int result;
  do {
    result = waitid(by_descriptor, process, &info, WEXITED | (waits ? 0 : WNOHANG));
  } while (result < 0 && errno == EINTR);
  if (result < 0) return LINUX_ENDED_UNKNOWN;
  if (info.si_pid == 0) return LINUX_RUNS;
  *code = info.si_status;
  return info.si_code == CLD_EXITED ? LINUX_EXITED : LINUX_SIGNALLED;
}

int linux_processor_count(void) {
  cpu_set_t set;
  // A machine with more than the set has room for has enough of them.
  return sched_getaffinity(0, sizeof set, &set) < 0 ? CPU_SETSIZE : CPU_COUNT(&set);
}
