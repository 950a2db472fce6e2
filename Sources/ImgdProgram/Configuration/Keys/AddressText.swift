import Glibc

/// Whether a text is an address of a family, AF_INET or AF_INET6.
package func isAddress(_ text: String, _ family: Int32) -> Bool {
  // Large enough for both families; the address itself is not used.
  var address = in6_addr()
  // The call reads a C string that lives as long as the call, and fills what it is given.
  return unsafe inet_pton(family, text, &address) == 1
}
