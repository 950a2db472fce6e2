// Routes, as the kernel lists them over netlink.

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int netlink_socket(uint32_t groups) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

int linux_route_bell(void) {
  int fd = netlink_socket(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
  if (fd < 0) return -1;
  // What does not fit is dropped, and makes the socket no less readable. Both are only thrifty: a failure costs
  // a few more reads.
  int yes = 1, least = 1;
  (void)setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, &yes, sizeof yes);
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
  return fd;
}

void linux_drop_messages(int fd, int most) {
  char byte;
  while (most-- > 0 && (recv(fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0 || errno == EINTR)) {
  }
}

int linux_list_routes(void) {
  int fd = netlink_socket(0);
  if (fd < 0) return -1;
  struct {
    struct nlmsghdr header;
    struct rtmsg message;
  } request = {
    .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
    .message = {.rtm_family = AF_UNSPEC},
  };
  if (send(fd, &request, sizeof request, 0) == (ssize_t)sizeof request) return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

ssize_t linux_read_routes(int fd, void *bytes, size_t capacity) {
  ssize_t count;
  struct sockaddr_nl sender;
  do {
    socklen_t length = sizeof sender;
    count = recvfrom(fd, bytes, capacity, MSG_DONTWAIT, (struct sockaddr *)&sender, &length);
    // The kernel alone has the number 0.
  } while ((count < 0 && errno == EINTR) || (count >= 0 && sender.nl_pid != 0));
  return count;
}
