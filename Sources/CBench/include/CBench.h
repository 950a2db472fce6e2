// The parts of the bench in C: a load that costs less than any server, a minimal server as the lower
// bound, and a few calls to place and inspect processes.
#ifndef IMGD_CBENCH_H
#define IMGD_CBENCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The framing of a server's replies.
enum {
  BENCH_LINES,        // imgd, the floor: a newline
  BENCH_BULKS,        // redis: $N, then N bytes
  BENCH_PAGES,        // HTTP: a head with Content-Length, then the body
  BENCH_FDS,          // imgd: a line with a descriptor, which is passed to fstat and closed
  BENCH_FDS_TOUCHED,  // the same, but mapped, and one byte of every page read
};

// Every connection sends a batch, waits for all its replies, and sends the next.
struct bench_load {
  int framing;
  int connections;
  int parts;             // batches of equal length in the bytes, sent in turn
  int replies;           // replies to one batch
  uint64_t batches;      // batches of each connection; 0: until the duration is over
  uint64_t duration_ns;
  uint64_t interval_ns;  // between the starts of batches, over all connections; 0: at once
};

struct bench_result {
  uint64_t replies;
  uint64_t failures;     // replies without ok
  uint64_t descriptors;
  uint64_t elapsed_ns;   // from the first request to the last reply
  uint64_t busy_ns;      // processor time of the load itself
  uint64_t p50_ns, p99_ns, max_ns;
};

// Runs a load against a Unix socket; 0, or -1 and errno (ETIMEDOUT: no reply for 30 s).
int bench_run(const struct bench_load *load, const char *socket, const void *batch, size_t bytes,
              struct bench_result *result);

// Serves for ever: every line gets one line of reply_bytes bytes.
int bench_floor(const char *socket, size_t reply_bytes);

// Sends one line and receives one, without its newline, cut to capacity; returns its length, or -1.
ssize_t bench_ask(const char *socket, const char *line, char *reply, size_t capacity);

int bench_connect(const char *socket);

// Starts a program that ends with the caller, its output in a log, on one processor (-1: any). The
// words follow each other, each with its zero byte; setting is NAME=VALUE or NULL.
pid_t bench_spawn(const char *words, size_t count, const char *log, const char *setting,
                  int processor);
int bench_pin(int processor);
int bench_processors(void);
uint64_t bench_raise_descriptor_limit(void);
int bench_free_port(void);
uint64_t bench_now_ns(void);

// The bytes of a process's open memfds, each counted once.
uint64_t bench_memfd_bytes(pid_t process);

#endif
