// System calls that Glibc's Swift module lacks (GNU extensions) or cannot express (macros, control
// messages). Each function wraps one call; failure is -1 and errno, as in the call itself.
#ifndef IMGD_CLINUX_H
#define IMGD_CLINUX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

// epoll, with the token as one 64-bit number.
struct linux_ready {
  uint64_t token;
  uint32_t events;
};
enum { LINUX_READ = 1, LINUX_WRITE = 2, LINUX_HANGUP = 4, LINUX_HALF_CLOSED = 8, LINUX_PRIORITY = 16,
       LINUX_EDGE = 32 };
int linux_epoll_create(void);
int linux_epoll_add(int epoll, int fd, uint32_t interest, uint64_t token);
int linux_epoll_modify(int epoll, int fd, uint32_t interest, uint64_t token);
int linux_epoll_remove(int epoll, int fd);
// Waits at most timeout_ns (negative: for ever) for LINUX_READ or LINUX_WRITE; like poll.
int linux_wait(int fd, uint32_t interest, int64_t timeout_ns);
// Waits at most timeout_ns (negative: for ever) and fills ready with at most capacity items.
int linux_epoll_wait(int epoll, struct linux_ready *ready, int capacity, int64_t timeout_ns);

int linux_eventfd(void);
int linux_memfd(const char *name);
int linux_seal(int fd);         // SEAL, SHRINK, GROW, WRITE
int linux_is_sealed(int fd);    // 1 yes, 0 no
int linux_own_descriptors(void); // the directory /proc/self/fd, kept open; -1 without /proc
int linux_reopen_read_only(int fd);
int linux_duplicate(int fd);        // to the lowest number that is free, close-on-exec
int linux_accept(int listener); // non-blocking, close-on-exec
int linux_peer(int fd, pid_t *pid, uid_t *uid, gid_t *gid);
int linux_unix_socket(void);    // stream, non-blocking, close-on-exec
int linux_bind_unix(int fd, const char *path);
int linux_connect_unix(int fd, const char *path);
int linux_lock_exclusive(int fd); // flock, never waits
int linux_unlock(int fd);         // also for copies of the descriptor
int linux_random(void *bytes, size_t count);
int linux_gettid(void);
void linux_name_thread(const char *name);
void linux_trim_heap(void);
void linux_merge_freed(void);
/// Has malloc keep so many freed bytes at the end of each of its heaps, and ask the kernel for larger pieces alone.
void linux_keep_freed(size_t most);
int linux_set_nonblocking(int fd);

// Sends bytes, with one descriptor on the first of them when fd >= 0. Never waits, never raises
// SIGPIPE.
ssize_t linux_send(int socket, const void *bytes, size_t count, int fd);
// Receives bytes without waiting; attached descriptors are never accepted.
ssize_t linux_receive(int socket, void *bytes, size_t capacity);
// Where bytes with descriptors are received, set up once for many reads.
enum { LINUX_MOST_HANDED = 2 };
struct linux_reader {
  struct msghdr message;
  struct iovec piece;
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(LINUX_MOST_HANDED * sizeof(int))];
};
// Whether descriptors came, or one that the process has no room for.
static inline int linux_has_handed(const struct linux_reader *reader) {
  return reader->message.msg_controllen > 0 || reader->message.msg_flags & MSG_CTRUNC;
}
void linux_set_up(struct linux_reader *reader, void *bytes, size_t capacity);
// Receives bytes without waiting, and the descriptors that came with the last of them.
ssize_t linux_receive_handed(int socket, struct linux_reader *reader);
// The descriptors of the last call, once; -1 stands for one that the process has no room for.
int linux_take_handed(struct linux_reader *reader, int fds[LINUX_MOST_HANDED]);
// Receives bytes and at most one descriptor (-1: none came); for clients. EMFILE where one came that the
// process has no room for.
ssize_t linux_receive_with_fd(int socket, void *bytes, size_t capacity, int *fd);

// A pair of connected sockets that keep messages apart.
int linux_message_pair(int ends[2]);
// Receives one whole message and its descriptors. One that does not
// fit is dropped: EMSGSIZE.
enum { LINUX_MOST_DESCRIPTORS = 8 };
ssize_t linux_receive_message(
    int socket, void *bytes, size_t capacity, int fds[LINUX_MOST_DESCRIPTORS], int *count, int waits);

// Where a file ends: glibc's fstat is a call that can also be given a path.
off_t linux_length(int fd);
// The `struct stat` of a file, for the same reason: that call looks up an empty path.
int linux_status(int fd, void *status);

// Signals as a descriptor. The set is a bit mask: bit N for signal N.
int linux_block_signals(uint64_t mask);
int linux_signal_fd(uint64_t mask);
int linux_next_signal(int fd);  // the signal's number, 0 when none waits

// Files below a directory, reached without following any link (openat2).
enum { LINUX_OPEN_FILE, LINUX_OPEN_DIRECTORY, LINUX_OPEN_STATUS };
// With may_wait 0 it fails with EAGAIN (EINVAL before Linux 5.12) instead of reading the disk.
int linux_open_beneath(int directory, const char *path, int opening, int may_wait);
// The same without openat2, one component after the other; may wait.
int linux_open_by_steps(int directory, const char *path, int opening);
int linux_open_unnamed(int directory, mode_t mode); // O_TMPFILE, to be linked later
int linux_link_unnamed(int fd, int directory, const char *name);
int linux_rename_new(int directory, const char *name, const char *new_name); // never replaces
// Reads the bytes that the kernel has at hand; EAGAIN where it would have to ask the disk, EOPNOTSUPP where
// the file system cannot tell.
ssize_t linux_read_at_hand(int fd, void *bytes, size_t count, off_t start);
ssize_t linux_send_file(int target, int source, off_t offset, size_t count);

// The arguments of the program, its name first.
int linux_argument_count(void);
const char *linux_argument(int index);
char **linux_environment(void); // ends with a null pointer

// The path of a Unix stream socket that listens; -1 for anything else.
ssize_t linux_listening_path(int fd, char *path, size_t capacity);
// The port of a TCP socket that listens; -1 for anything else. Tells whether its address is a loopback one.
int linux_listening_port(int fd, int *loopback);
// Writes the address of the other end of a TCP connection if that is on another machine; returns 0 if it is on this
// one, and -1 if it is gone.
int linux_remote_address(int fd, char *text, size_t capacity);

int linux_is_loopback(const char *address); // 127.0.0.0/8 or ::1
// A TCP socket that listens at an address; port 0 for a free one.
int linux_listen_port(const char *address, int port);

// Routes (routes.c). A socket that becomes readable when links, addresses or routes change; it holds a few messages.
int linux_route_bell(void);
void linux_drop_messages(int fd, int most); // drops so many of those that have arrived
// A socket from which all routes can be read, as messages of netlink.
int linux_list_routes(void);
// Reads the next of them; never waits.
ssize_t linux_read_routes(int fd, void *bytes, size_t capacity);

// Programs that this one starts.
// Starts a program and returns a descriptor of the process. Its environment says that Swift looks
// into no crash, its signals are as by default, its descriptors are the channel as number 3, and /dev/null below.
int linux_spawn(const char *path, char *const arguments[], int channel, pid_t *pid);
int linux_kill(int process);
// Whether the process has ended, or waits for that; code is its exit code or the signal that ended it.
enum { LINUX_RUNS, LINUX_EXITED, LINUX_SIGNALLED, LINUX_ENDED_UNKNOWN };
int linux_reap(int process, int waits, int *code);

int linux_processor_count(void); // those that this thread may run on

// A process that shuts itself off.
int linux_die_with_parent(void);
int linux_give_up_rights(void); // no new ones, and not dumpable
int linux_has_given_up_rights(void);
// Keeps one descriptor, under this number, the standard ones being /dev/null, and closes the others.
int linux_keep_descriptor(int fd, int number);
int linux_limit_process(uint64_t memory, uint64_t file, uint64_t descriptors);
void linux_lower_priority(int by);
void linux_limit_arenas(int most);
// Has a program that traps say so in one line on standard error, with places that its build's line tables name, before it
// ends by that signal. The name has to last; in a stream to the journal the line begins with its priority.
void linux_tell_traps(const char *name, int to_journal);
// Room for that line in a thread whose own stack has none left; NULL where there is some already, or no memory.
void *linux_reserve_stack(void);
void linux_release_stack(void *room);
// Landlock for the calling thread and those it will start: all that it knows is denied.
int linux_give_up_files(void);
// What a trial of this attempts.
int linux_fork(void);
int linux_exec_true(void);
int linux_trace(int pid);

// Memory for bodies (slabs.c), for any thread. A null pointer where there is none left.
enum { SLABS_MOST = 64 * 1024 }; // what is larger comes from malloc
struct slabs;
struct slabs *slabs_make(void);
void *slabs_allocate(struct slabs *slabs, size_t bytes);
void slabs_release(struct slabs *slabs, void *place, size_t bytes);
// Never moves what becomes smaller.
void *slabs_resize(struct slabs *slabs, void *place, size_t from, size_t to);
void slabs_give_back(struct slabs *slabs); // the slab that is kept for the next body
size_t slabs_taken(size_t bytes);          // what so many bytes take
size_t slabs_unused(struct slabs *slabs);  // of the memory that is held

int64_t linux_monotonic_ns(void);
int64_t linux_realtime_ns(void);

// Has the processor fetch the bytes at an address, which may be any.
static inline void linux_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
