// libmicrohttpd: connections and requests of HTTP, on a loop of our own.
#ifndef IMGD_CMICROHTTPD_H
#define IMGD_CMICROHTTPD_H

#include <microhttpd.h>

// What the library calls; the context comes back with each call, but for the end of a response.
struct http_callbacks {
  void *context;
  MHD_AccessHandlerCallback on_request;
  MHD_NotifyConnectionCallback on_connection;
  void *(*on_target)(void *context, const char *target, struct MHD_Connection *connection);
  MHD_RequestCompletedCallback on_completed;
};

// Starts it without a thread. It accepts the clients of `listening` itself: only of connections that it has accepted
// does it know that their socket is no TCP one, and has no options of TCP. NULL on failure: errno says why, which is
// EOPNOTSUPP for a version of the library that is too old to be strict.
struct MHD_Daemon *http_start(
  const struct http_callbacks *callbacks, int listening, unsigned connections, unsigned seconds);
// Whether one of several that listen on the same socket accepts its clients; on any thread.
void http_set_turn(uint64_t daemon, int epoll, int listening, int is_its);
// Has it leave the listening socket alone, which stays open.
void http_stop_listening(struct MHD_Daemon *daemon);
// Gives it those who wait in the queue of a socket that it listens on no more.
void http_accept_waiting(struct MHD_Daemon *daemon, int listening);
// The descriptor that is readable when there is something to run for.
int http_epoll(struct MHD_Daemon *daemon);

// Has the library read no parameters of the target that it is telling of. Nobody asks it for them, and a
// client that sends more than fit would wait for an answer for ever.
void http_skip_parameters(const char *target);

// Has the library take a request for one without a body, whatever its fields say of that, and leave the judgement
// to `http_read_head`: it answers a length that is malformed by itself, with two heads. To be called before the
// fields are read; whatever has a body must be refused.
void http_judge_lengths_later(struct MHD_Connection *connection);

int http_socket(struct MHD_Connection *connection);
// The place for what belongs to a connection, as its first notification has set it.
void *http_connection_context(struct MHD_Connection *connection);

// How a request's head was written.
struct http_head {
  int is_strict;     // every byte has its place in the grammar
  unsigned hosts;    // fields with that name
  unsigned lengths;
  unsigned codings;
  int has_length;    // a length other than zero
};
// Looks at the head where the library has parsed it: what it puts up with, such as a folded field, a zero
// byte or a blank before a colon, others may have read in another way. Only for the first call about a request.
struct http_head http_read_head(
  struct MHD_Connection *connection, const char *method, const char *target, size_t target_length,
  const char *version);

#endif
