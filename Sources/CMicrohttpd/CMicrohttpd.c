#define _GNU_SOURCE
#include "CMicrohttpd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

// A request with its target, which may be 24 KiB of percent escapes, and the head of its answer. From 32 KiB on the
// library maps this memory, and what a crowd of clients took goes back to the machine with them.
static const size_t memory_of_connection = 36 * 1024;

// MHD_ALLOW_SUSPEND_RESUME without the descriptor that would wake another thread.
static const unsigned suspending = MHD_ALLOW_SUSPEND_RESUME & ~(unsigned)MHD_USE_ITC;

// Where the parts of a head lie is known of this version. Later ones are strict themselves; earlier ones are not,
// and are refused.
static const char known_layout[] = "0.9.75";

struct MHD_Daemon *http_start(
  const struct http_callbacks *callbacks, int listening, unsigned connections, unsigned seconds) {
  if (strverscmp(MHD_get_version(), known_layout) < 0) {
    errno = EOPNOTSUPP;
    return NULL;
  }
  void *context = callbacks->context;
  // Some failures have no number of the system.
  errno = ENOMEM;
  return MHD_start_daemon(
    MHD_USE_EPOLL | MHD_USE_TURBO | suspending, 0, NULL, NULL,
    callbacks->on_request, context,
    MHD_OPTION_LISTEN_SOCKET, listening,
    MHD_OPTION_NOTIFY_CONNECTION, callbacks->on_connection, context,
    MHD_OPTION_URI_LOG_CALLBACK, callbacks->on_target, context,
    MHD_OPTION_NOTIFY_COMPLETED, callbacks->on_completed, context,
    MHD_OPTION_CONNECTION_LIMIT, connections,
    MHD_OPTION_CONNECTION_TIMEOUT, seconds,
    MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_of_connection,
    // Or else it would not use sendfile.
    MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
#if MHD_VERSION >= 0x00097701
    MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#endif
    MHD_OPTION_END);
}

void http_stop_listening(struct MHD_Daemon *daemon) { MHD_quiesce_daemon(daemon); }

void http_accept_waiting(struct MHD_Daemon *daemon, int listening) {
  struct sockaddr_storage address;
  for (;;) {
    socklen_t length = sizeof address;
    int client = accept4(listening, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= 0)
      MHD_add_connection(daemon, client, (struct sockaddr *)&address, length);
    else if (errno != ECONNABORTED && errno != EINTR)
      return;
  }
}

int http_epoll(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

// The library knows its listening socket by this pointer. Where it does not listen now, at its limit or in the end,
// there is nothing to change.
void http_set_turn(uint64_t daemon, int epoll, int listening, int is_its) {
  struct epoll_event event = {.events = is_its ? EPOLLIN : 0, .data.u64 = daemon};
  epoll_ctl(epoll, EPOLL_CTL_MOD, listening, &event);
}

static int is_layout_known(void) {
  return strcmp(MHD_get_version(), known_layout) == 0;
}

// It is the library's own buffer, and the library is about to write to it as well.
void http_skip_parameters(const char *target) {
  if (!is_layout_known()) return;
  char *mark = strchr((char *)target, '?');
  if (mark) mark[1] = 0;
}

static const char length_name[] = "Content-Length";

void http_judge_lengths_later(struct MHD_Connection *connection) {
  if (is_layout_known()) MHD_set_connection_value(connection, MHD_HEADER_KIND, length_name, "0");
}

int http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

void *http_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

// The library leaves a head where it has read it, and writes zeros over what separates its parts: one over
// a colon and over each of the blanks around the target, two over the end of a line. So each field must begin
// where the one before ends, and nothing may be left over.
struct reading {
  int is_layout_known;
  const char *at;
  int sound;  // fields
  struct http_head head;
};

static int is_named(const char *name, size_t length, const char *wanted) {
  return length == strlen(wanted) && strncasecmp(name, wanted, length) == 0;
}

static int is_token(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c <= ' ' || c >= 127 || strchr("\"(),/:;<=>?@[\\]{}", c)) return 0;
  }
  return length > 0;
}

static int is_text(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if ((c < ' ' && c != '\t') || c == 127) return 0;
  }
  return 1;
}

static int is_number(const char *text, size_t length) {
  return length > 0 && strspn(text, "0123456789") == length;
}

static int ends_line(const char *at) { return at[0] == 0 && at[1] == 0; }

// Whether nothing but a colon and blanks lies between the end of the line before, a name and its value.
static int is_adjacent(
  const char *from, const char *name, size_t name_length, const char *value, size_t value_length) {
  const char *at = name + name_length + 1;
  while (at < value && (*at == ' ' || *at == '\t')) at++;
  return name == from && at == value && ends_line(value + value_length);
}

static enum MHD_Result read_field(
  void *context, enum MHD_ValueKind kind, const char *name, size_t name_length, const char *value,
  size_t value_length) {
  (void)kind;
  struct reading *reading = context;
  if (name == length_name) return MHD_YES;
  if (!is_token(name, name_length) || !value || !is_text(value, value_length)) return MHD_NO;
  if (reading->is_layout_known && !is_adjacent(reading->at, name, name_length, value, value_length)) return MHD_NO;
  const int is_length = is_named(name, name_length, length_name);
  if (is_length && !is_number(value, value_length)) return MHD_NO;
  reading->at = value + value_length + 2;
  reading->sound++;
  struct http_head *head = &reading->head;
  if (is_named(name, name_length, "Host")) head->hosts++;
  if (is_named(name, name_length, "Transfer-Encoding")) head->codings++;
  if (is_length) {
    head->lengths++;
    if (strspn(value, "0") != value_length) head->has_length = 1;
  }
  return MHD_YES;
}

struct http_head http_read_head(
  struct MHD_Connection *connection, const char *method, const char *target, size_t target_length,
  const char *version) {
  struct reading reading = {.is_layout_known = is_layout_known(), .at = version + strlen(version) + 2};
  size_t method_length = strlen(method);
  if (!is_token(method, method_length)) return reading.head;
  if (!reading.is_layout_known) {
    int fields = MHD_get_connection_values_n(connection, MHD_HEADER_KIND, NULL, NULL);
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, read_field, &reading);
    reading.head.is_strict = reading.sound == fields;
    return reading.head;
  }
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (!info || method + method_length + 1 != target) return reading.head;
  if (target + target_length + 1 != version || !ends_line(version + strlen(version))) return reading.head;
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, read_field, &reading);
  // The empty line, for which the library also takes one with a colon behind the end of another that had no return.
  reading.head.is_strict = reading.at + 2 == method + info->header_size && ends_line(reading.at);
  return reading.head;
}
