import Glibc

/// A system call that failed where the program cannot go on by itself.
///
/// Nobody matches on it: it travels to whoever started the work, and its text names the call, the
/// thing it was applied to and the system's reason.
package struct SystemFailure: Error, CustomStringConvertible {
  package let call: String
  package let subject: String
  package let errno: CInt

  /// Takes `errno` as the failed call left it.
  package init(_ call: String, _ subject: String = "", errno code: CInt = Glibc.errno) {
    self.call = call
    self.subject = subject
    self.errno = code
  }

  package var reason: String { unsafe String(cString: strerror(errno)) }

  package var description: String {
    subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)"
  }
}
