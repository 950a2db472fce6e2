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
  BENCH_FDS_MAPPED,   // the same, but mapped, and nothing read
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
  uint64_t patience_ns;  // how long no reply may come; 0: 30 s
  int ends_on_signal;    // goes on until SIGTERM, instead of for a duration
};

struct bench_result {
  uint64_t replies;
  uint64_t failures;     // replies without ok
  uint64_t descriptors;
  uint64_t elapsed_ns;   // from the first request to the last reply
  uint64_t busy_ns;      // processor time of the load itself
  uint64_t p50_ns, p99_ns, p999_ns, max_ns;
};

// Runs a load against a Unix socket; 0, or -1 and errno (ETIMEDOUT: no reply for too long).
int bench_run(const struct bench_load *load, const char *socket, const void *batch, size_t bytes,
              struct bench_result *result);

// Connections that say much at once, and read all answers without keeping them. Each part is to end with
// a ping whose id is "end": its answer shows that all before it has been taken in.
struct bench_flood;

struct bench_flood_result {
  uint64_t lines, bytes; // of answers
  uint64_t refusals;     // answers without ok
  uint64_t closed;       // connections that the server has closed
};

// Connects, as another user where the caller is root; NULL and errno on failure.
struct bench_flood *bench_flood_open(const char *socket, int connections, int user);
// Each connection in turn is to say one of the parts, which have the same length.
int bench_flood_say(struct bench_flood *flood, const void *bytes, size_t count, int parts);
// Speaks and reads until each connection has its answer to the ping, or is closed, and so many lines have
// come in all; 0, or -1 and errno (ETIMEDOUT: patience has ended).
int bench_flood_await(struct bench_flood *flood, uint64_t lines, uint64_t patience_ns);
struct bench_flood_result bench_flood_tally(const struct bench_flood *flood);
void bench_flood_close(struct bench_flood *flood);

// Connections in a process of their own that say a text piece by piece, until SIGTERM.
struct bench_crowd {
  int connections;
  int user;              // as whom they connect, where the caller is root
  int parts;             // of the text, of equal length: each connection says one
  size_t piece;          // bytes that are said at a time; 0: as many as the socket takes
  uint64_t interval_ns;  // from one piece to the next, over all connections in turn; 0: as the sockets take it
  int repeats;           // begins anew when all is said
  int reads;             // reads the answers
  int leaves;            // when all is said, closes the connection and makes another one
};

struct bench_crowd_result {
  uint64_t connections;  // that were made
  uint64_t closed;       // by the server
  uint64_t said;         // bytes
  uint64_t blocked;      // pieces that a socket did not take
  uint64_t lines;        // of answers, as far as they are read
  uint64_t refusals;     // answers without ok
};

// Prints "ready" when all are connected; 0 after SIGTERM, or -1 and errno.
int bench_crowd_run(const struct bench_crowd *what, const char *socket, const void *text, size_t bytes,
                    struct bench_crowd_result *result);

// Hosts of a fleet that read the purges of a redis at 127.0.0.1, each with a second connection that is idle.
struct bench_readers {
  int port;
  int readers;
  uint64_t purges;       // how many are written
  uint64_t interval_ns;  // from one to the next
};

struct bench_readers_result {
  uint64_t bytes_to_server, bytes_from_server;
  uint64_t elapsed_ns;   // until the last reader has the last purge
  uint64_t busy_ns;      // processor time of the readers
  uint64_t each_p50_ns;  // until a reader has a purge
  uint64_t last_p50_ns, last_p99_ns;  // until all of them have it
};

// Writes all purges and waits until all readers have them; 0, or -1 and errno (ETIMEDOUT: patience has ended).
int bench_readers_run(const struct bench_readers *what, struct bench_readers_result *result);

enum { BENCH_PICTURES, BENCH_SILENT, BENCH_DRIPPING, BENCH_BLACKHOLE };

// An origin of pictures at 127.0.0.1, or dead ones at 127.0.1.1, 127.0.1.2 and so on.
struct bench_origin {
  int kind;
  int hosts;
  int port;
  int status;            // of a picture's answer
  uint64_t delay_ns;     // until a picture's answer
  size_t head_bytes;     // of a head that says little
};

// Serves for ever; -1 and errno when it cannot.
int bench_origin_serve(const struct bench_origin *what, const void *body, size_t bytes);

// Serves for ever: every line gets one line of reply_bytes bytes.
int bench_floor(const char *socket, size_t reply_bytes);

// Sends one line and receives one, without its newline, cut to capacity; returns its length, or -1.
ssize_t bench_ask(const char *socket, const char *line, char *reply, size_t capacity);

int bench_connect(const char *socket);
// The same, as another user where the caller is root.
int bench_connect_as(const char *socket, int user);
int bench_listen(const char *socket);

// The first line with a word that clients say on connections to a listener, without its end; its length, or 0 if
// none comes. No client gets an answer.
size_t bench_record(int listener, const char *word, char *line, size_t capacity);

// Starts a program that ends with the caller, its output in a log, on one processor (-1: any). The
// words follow each other, each with its zero byte; setting is NAME=VALUE or NULL.
pid_t bench_spawn(const char *words, size_t count, const char *log, const char *setting,
                  int processor);
int bench_pin(int processor);
// Has the calling process go before all that have no such right: real-time, or else a better nice value.
void bench_go_first(void);
int bench_processors(void);
uint64_t bench_raise_descriptor_limit(void);
int bench_free_port(void);
uint64_t bench_now_ns(void);

// The bytes of a process's open memfds, each counted once.
uint64_t bench_memfd_bytes(pid_t process);

// Watches the directories in a directory for files that are removed; a descriptor, or -1 and errno.
int bench_watch_removals(const char *directory);
// How many have been removed since the last call, waiting at most so long for the first; -1 and errno
// (EOVERFLOW: there were more than the kernel has kept).
int64_t bench_await_removals(int watch, int patience_ms);

// Has mounts from now on be seen by this thread and its children alone; 0, or -1 and errno.
int bench_private_mounts(void);

enum { BENCH_JPEG, BENCH_PNG, BENCH_WEBP };

// A picture that is about as hard to encode as a photograph.
struct bench_picture {
  int format;
  int width, height;
  int quality;           // but for PNG
  uint64_t seed;
};

// Draws a picture into a file; 0, or -1 and errno, the reason being in the error output.
int bench_draw(const struct bench_picture *picture, const char *path);

// Decodes to RGBA in new memory and gives it back; 0, or -1 and errno. By libvips with its threads as they are
// by default, and by libjpeg-turbo.
int bench_decode_by_vips(int format, const void *bytes, size_t count);
int bench_decode_by_libjpeg(const void *bytes, size_t count);

// Processor time of the children that have ended, in nanoseconds.
uint64_t bench_children_ns(void);

#endif
