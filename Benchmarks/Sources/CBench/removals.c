// Counts what others remove from a directory, as the kernel tells it, without looking at what is left.

#include "CBench.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

static int watch_all(int watch, DIR *entries, const char *directory) {
  for (struct dirent *entry; (entry = readdir(entries));) {
    char path[600];
    if (entry->d_name[0] == '.' || entry->d_type != DT_DIR) continue;
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    if (inotify_add_watch(watch, path, IN_DELETE) < 0) return -1;
  }
  return 0;
}

int bench_watch_removals(const char *directory) {
  DIR *entries = opendir(directory);
  if (entries == NULL) return -1;
  int watch = inotify_init1(IN_CLOEXEC), reason = 0;
  if (watch < 0 || watch_all(watch, entries, directory) < 0) reason = errno;
  closedir(entries);
  if (reason == 0) return watch;
  if (watch >= 0) close(watch);
  return errno = reason, -1;
}

int64_t bench_await_removals(int watch, int patience_ms) {
  _Alignas(struct inotify_event) char room[1 << 16];
  struct pollfd ready = {.fd = watch, .events = POLLIN};
  int64_t count = 0;
  if (poll(&ready, 1, patience_ms) <= 0) return 0;
  ssize_t bytes = read(watch, room, sizeof room);
  if (bytes < 0) return -1;
  for (char *at = room; at < room + bytes;) {
    const struct inotify_event *event = (const struct inotify_event *)at;
    if (event->mask & IN_Q_OVERFLOW) return errno = EOVERFLOW, -1;
    if (event->mask & IN_DELETE) count++;
    at += sizeof *event + event->len;
  }
  return count;
}
