#define _GNU_SOURCE
#include "CBench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

int bench_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) < 0 ? 1 : CPU_COUNT(&set);
}

int bench_pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (processor < 0 || i == processor) CPU_SET(i, &set);
  return sched_setaffinity(0, sizeof set, &set);
}

void bench_go_first(void) {
  struct sched_param first = {.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &first) < 0) setpriority(PRIO_PROCESS, 0, -15);
}

static void become(char *const *words, const char *log, const char *setting, int processor) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  bench_pin(processor);
  int nowhere = open("/dev/null", O_RDONLY), output = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (nowhere < 0 || output < 0) _exit(126);
  dup2(nowhere, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (setting) putenv((char *)setting);
  execvp(words[0], words);
  _exit(127);
}

pid_t bench_spawn(const char *words, size_t count, const char *log, const char *setting,
                  int processor) {
  char **list = calloc(count + 1, sizeof *list);
  if (list == NULL) return -1;
  for (size_t i = 0; i < count; i++, words += strlen(words) + 1) list[i] = (char *)words;
  pid_t child = fork();
  if (child == 0) become(list, log, setting, processor);
  free(list);
  return child;
}

uint64_t bench_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

int bench_free_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = -1;
  if (fd < 0) return -1;
  if (bind(fd, (struct sockaddr *)&address, length) == 0 &&
      getsockname(fd, (struct sockaddr *)&address, &length) == 0)
    port = ntohs(address.sin_port);
  close(fd);
  return port;
}

// Descriptors of one memfd share its inode, so each inode is counted once.
static uint64_t memfd_bytes(const char *directory, const char *name, ino_t *seen, size_t *count,
                            size_t capacity) {
  char path[300], target[16] = "";
  struct stat status;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  if (readlink(path, target, sizeof target - 1) < 0 || strncmp(target, "/memfd:", 7) != 0) return 0;
  if (stat(path, &status) < 0) return 0;
  for (size_t i = 0; i < *count; i++)
    if (seen[i] == status.st_ino) return 0;
  if (*count < capacity) seen[(*count)++] = status.st_ino;
  return (uint64_t)status.st_blocks * 512;
}

uint64_t bench_memfd_bytes(pid_t process) {
  enum { CAPACITY = 1 << 16 };
  char directory[32];
  snprintf(directory, sizeof directory, "/proc/%d/fd", (int)process);
  DIR *entries = opendir(directory);
  ino_t *seen = calloc(CAPACITY, sizeof *seen);
  uint64_t bytes = 0;
  size_t count = 0;
  for (struct dirent *entry; entries && seen && (entry = readdir(entries));)
    bytes += memfd_bytes(directory, entry->d_name, seen, &count, CAPACITY);
  free(seen);
  if (entries) closedir(entries);
  return bytes;
}

int bench_private_mounts(void) {
  if (unshare(CLONE_NEWNS) != 0) return -1;
  return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

uint64_t bench_children_ns(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_CHILDREN, &usage) != 0) return 0;
  uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  return us * 1000;
}
