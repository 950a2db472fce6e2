// The load. One thread, one epoll set, level-triggered: each cycle reads the available bytes, counts
// the replies in them, and sends the next batch when one is complete. All servers are driven by this
// code, and differ only in the end of a reply. Nothing is allocated while it runs: the batch is one
// block of bytes of the caller, and replies are parsed in the read buffer. The processor time spent
// here is reported, which shows a run in which the load was the slower side.
//
// A paced load starts batches by the clock instead, and its latencies count from the time at which the
// batch was due, not from when a connection was free: so a server that stalls cannot hide the requests
// that it delayed.

#define _GNU_SOURCE
#include "CBench.h"
#include "framing.h"
#include "histogram.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 18, EVENTS = 256, PAGE = 4096 };
static const uint64_t usual_patience_ns = 30ull * 1000000000;
static volatile sig_atomic_t was_told_to_end;

struct connection {
  int fd;
  int awaited;          // replies of the batch in flight; 0: idle
  int watches_writes;
  const char *batch;    // the last one sent
  size_t written;       // bytes of the batch written
  uint64_t sent;        // time of sending
  uint64_t batches;
  uint64_t body;        // bytes of the current reply still to come
  char *held;           // the beginning of an incomplete head
  size_t held_bytes;
};

struct run {
  struct bench_load load;
  const char *batch;    // the first one; the others follow
  size_t bytes;         // bytes of each batch
  uint64_t begun;       // batches of all connections
  framing frame;
  int epoll;
  struct connection *connections;
  int *idle, idle_count;
  int busy;
  uint64_t now, deadline, due;
  struct bench_result *result;
  struct histogram histogram;
  char buffer[BUFFER];
};

uint64_t bench_now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t processor_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// MARK: Sending

static int watch(struct run *run, struct connection *connection, int operation, int writes) {
  struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.ptr = connection};
  connection->watches_writes = writes;
  return epoll_ctl(run->epoll, operation, connection->fd, &event);
}

static int send_rest(struct run *run, struct connection *connection) {
  ssize_t count = send(connection->fd, connection->batch + connection->written,
                       run->bytes - connection->written, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && errno != EAGAIN) return -1;
  if (count > 0) connection->written += (size_t)count;
  int more = connection->written < run->bytes;
  return more == connection->watches_writes ? 0 : watch(run, connection, EPOLL_CTL_MOD, more);
}

static int start_batch(struct run *run, struct connection *connection, uint64_t due) {
  connection->sent = due;
  connection->batch = run->batch + run->bytes * (run->begun++ % (uint64_t)run->load.parts);
  connection->written = 0;
  connection->awaited = run->load.replies;
  connection->batches++;
  run->busy++;
  return send_rest(run, connection);
}

static int goes_on(const struct run *run, const struct connection *connection) {
  if (run->load.batches > 0) return connection->batches < run->load.batches;
  return run->load.interval_ns == 0 && run->now < run->deadline;
}

static int batch_ended(struct run *run, struct connection *connection) {
  run->busy--;
  if (goes_on(run, connection)) return start_batch(run, connection, run->now);
  run->idle[run->idle_count++] = (int)(connection - run->connections);
  return 0;
}

static int is_paced(const struct run *run) {
  return run->load.interval_ns > 0 && run->due < run->deadline;
}

static int start_due_batches(struct run *run) {
  while (is_paced(run) && run->due <= run->now && run->idle_count > 0) {
    struct connection *connection = &run->connections[run->idle[--run->idle_count]];
    if (start_batch(run, connection, run->due) < 0) return -1;
    run->due += run->load.interval_ns;
  }
  return 0;
}

// MARK: Receiving

static int answered(struct run *run, struct connection *connection) {
  histogram_add(&run->histogram, run->now - connection->sent);
  run->result->replies++;
  return --connection->awaited == 0 ? batch_ended(run, connection) : 0;
}

static int hold(struct connection *connection, const char *bytes, size_t count) {
  connection->held_bytes = count;
  if (count == 0) return 0;
  char *held = realloc(connection->held, count);
  if (held == NULL) return -1;
  memcpy(held, bytes, count);
  connection->held = held;
  return 0;
}

static int consume(struct run *run, struct connection *connection, size_t left) {
  const char *at = run->buffer;
  while (left > 0) {
    if (connection->body == 0) {
      struct reply reply = run->frame(at, left);
      if (reply.head == 0) break;
      if (connection->awaited == 0) return errno = EPROTO, -1;
      at += reply.head;
      left -= reply.head;
      run->result->failures += (uint64_t)reply.failed;
      connection->body = reply.body;
    }
    size_t body = connection->body < left ? (size_t)connection->body : left;
    connection->body -= body;
    at += body;
    left -= body;
    if (connection->body == 0 && answered(run, connection) < 0) return -1;
  }
  return hold(connection, at, left);
}

static void map_pages(int fd, size_t bytes, int touches) {
  const volatile char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return;
  for (size_t at = 0; touches && at < bytes; at += PAGE) (void)map[at];
  munmap((void *)map, bytes);
}

static void take(struct run *run, int fd) {
  struct stat status;
  if (fstat(fd, &status) == 0 && status.st_size > 0) run->result->descriptors++;
  if (run->load.framing != BENCH_FDS)
    map_pages(fd, (size_t)status.st_size, run->load.framing == BENCH_FDS_TOUCHED);
  close(fd);
}

static ssize_t receive_descriptors(struct run *run, int socket, char *bytes, size_t capacity) {
  char control[CMSG_SPACE(sizeof(int))];
  struct iovec part = {.iov_base = bytes, .iov_len = capacity};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                           .msg_controllen = sizeof control};
  ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count <= 0) return count;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_type != SCM_RIGHTS) return count;
  int fd;
  memcpy(&fd, CMSG_DATA(header), sizeof fd);
  take(run, fd);
  return count;
}

static int receive(struct run *run, struct connection *connection) {
  size_t held = connection->held_bytes;
  if (held == BUFFER) return errno = EMSGSIZE, -1;
  if (held > 0) memcpy(run->buffer, connection->held, held);
  char *room = run->buffer + held;
  ssize_t count = run->load.framing >= BENCH_FDS
      ? receive_descriptors(run, connection->fd, room, BUFFER - held)
      : recv(connection->fd, room, BUFFER - held, MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN ? 0 : -1;
  if (count == 0) return errno = ECONNRESET, -1;
  run->now = bench_now_ns();
  return consume(run, connection, held + (size_t)count);
}

// MARK: The loop

static void told_to_end(int signal) {
  (void)signal;
  was_told_to_end = 1;
}

// Batches that were due before are still sent: they are the ones that waited.
static void look_for_signal(struct run *run) {
  if (!was_told_to_end || run->now >= run->deadline) return;
  run->deadline = run->now;
}

static void prepare_for_signal(struct run *run) {
  struct sigaction action = {.sa_handler = told_to_end};
  was_told_to_end = 0;
  sigaction(SIGTERM, &action, NULL);
  run->deadline = UINT64_MAX;
}

static int turn(struct run *run) {
  int paced = is_paced(run) && run->idle_count > 0;
  uint64_t patience = run->load.patience_ns ? run->load.patience_ns : usual_patience_ns;
  uint64_t wait = paced ? (run->due > run->now ? run->due - run->now : 0) : patience;
  struct timespec limit = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
  struct epoll_event events[EVENTS];
  int count = epoll_pwait2(run->epoll, events, EVENTS, &limit, NULL);
  if (count < 0) return errno == EINTR ? 0 : -1;
  if (count == 0 && !paced) return errno = ETIMEDOUT, -1;
  for (int i = 0; i < count; i++) {
    struct connection *connection = events[i].data.ptr;
    if (events[i].events & EPOLLOUT && send_rest(run, connection) < 0) return -1;
    if (events[i].events & ~(uint32_t)EPOLLOUT && receive(run, connection) < 0) return -1;
  }
  run->now = bench_now_ns();
  look_for_signal(run);
  return start_due_batches(run);
}

static int connect_all(struct run *run, const char *socket) {
  run->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (run->epoll < 0) return -1;
  for (int i = 0; i < run->load.connections; i++) {
    struct connection *connection = &run->connections[i];
    connection->fd = bench_connect(socket);
    if (connection->fd < 0 || watch(run, connection, EPOLL_CTL_ADD, 0) < 0) return -1;
  }
  return 0;
}

static int start_all(struct run *run) {
  run->now = run->due = bench_now_ns();
  run->deadline = run->now + run->load.duration_ns;
  if (run->load.ends_on_signal) prepare_for_signal(run);
  for (int i = run->load.connections - 1; i >= 0; i--) {
    if (run->load.interval_ns > 0) run->idle[run->idle_count++] = i;
    else if (start_batch(run, &run->connections[i], bench_now_ns()) < 0) return -1;
  }
  return start_due_batches(run);
}

static int drive(struct run *run, const char *socket) {
  if (connect_all(run, socket) < 0) return -1;
  uint64_t before = processor_ns(), start = bench_now_ns();
  if (start_all(run) < 0) return -1;
  while (run->busy > 0 || is_paced(run))
    if (turn(run) < 0) return -1;
  run->result->elapsed_ns = run->now - start;
  run->result->busy_ns = processor_ns() - before;
  return 0;
}

static void report(const struct run *run) {
  run->result->p50_ns = histogram_percentile(&run->histogram, 50);
  run->result->p99_ns = histogram_percentile(&run->histogram, 99);
  run->result->p999_ns = histogram_percentile(&run->histogram, 99.9);
  run->result->max_ns = run->histogram.max;
}

static struct run *make_run(const struct bench_load *load) {
  static const framing framings[] = {frame_line, frame_bulk, frame_page,
                                     frame_line, frame_line, frame_line};
  struct run *run = calloc(1, sizeof *run);
  if (run == NULL) return NULL;
  run->load = *load;
  run->frame = framings[load->framing];
  run->epoll = -1;
  run->connections = calloc((size_t)load->connections, sizeof *run->connections);
  run->idle = calloc((size_t)load->connections, sizeof *run->idle);
  for (int i = 0; run->connections && i < load->connections; i++) run->connections[i].fd = -1;
  return run;
}

static void end_run(struct run *run) {
  for (int i = 0; run->connections && i < run->load.connections; i++) {
    if (run->connections[i].fd >= 0) close(run->connections[i].fd);
    free(run->connections[i].held);
  }
  if (run->epoll >= 0) close(run->epoll);
  free(run->connections);
  free(run->idle);
  free(run);
}

int bench_run(const struct bench_load *load, const char *socket, const void *batch, size_t bytes,
              struct bench_result *result) {
  *result = (struct bench_result){0};
  struct run *run = make_run(load);
  if (run == NULL) return -1;
  run->batch = batch;
  run->bytes = bytes / (size_t)load->parts;
  run->result = result;
  int outcome = run->connections && run->idle ? drive(run, socket) : -1;
  int reason = errno;
  report(run);
  end_run(run);
  errno = reason;
  return outcome;
}
