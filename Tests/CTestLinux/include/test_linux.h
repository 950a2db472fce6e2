// What tests need of Linux that Glibc's Swift map lacks. Failure is -1 and errno, as in the calls
// themselves.
#ifndef IMGD_TEST_LINUX_H
#define IMGD_TEST_LINUX_H

// Memory that can be sealed, as a client may hand it in.
int test_memfd(void);

// Moves the calling thread into the network namespace of a process.
int test_enter_network_of(int pid);

// Moves the calling thread into a new network, which only the returned descriptor keeps when the thread ends.
int test_make_network(void);
// Moves the calling thread into a network that a descriptor keeps.
int test_enter_network(int network);
// A new device of the calling thread's network that passes its packets to the returned descriptor.
int test_open_tunnel(const char *name);

// Gives the calling thread, and those it starts from now on, mounts of their own, with an empty
// directory over an existing one.
int test_cover_directory(const char *path);

// Gives the calling thread descriptors of its own, copies of what the process has.
int test_own_descriptors(void);

// Stops one thread of another process; it goes on when the calling thread releases it or ends.
int test_hold_thread(int tid);
int test_release_thread(int tid);
// Whether a thread that is held has come to its end, which only the holder is told.
int test_has_thread_ended(int tid);

// Adds to what is done to start a program that its descriptors from `first` on are closed. The actions
// are a posix_spawn_file_actions_t: a header that names it would take that type from Glibc's map.
void test_close_from(void *actions, int first);

// Sends one message with up to eight descriptors; -1 where it cannot.
long test_send(int socket, const void *bytes, unsigned long count, const int *numbers, int attached);

// The version of Landlock that the kernel has; -1 where it has none.
int test_landlock_version(void);

// A new pseudoterminal: its master side, and in `slave` that of the programs in it. -1 with errno if there is none.
int test_open_terminal(int *slave);

#endif
