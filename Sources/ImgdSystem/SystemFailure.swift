import Glibc

/// A failed system call from which the caller alone cannot recover. It is passed up to the caller that started the
/// work; its text names the call, the subject of the call and the system's reason.
package struct SystemFailure: Error, CustomStringConvertible {
  package let call: String
  package let subject: String
  package let errno: CInt

  /// Uses `errno` of the failed call.
  package init(_ call: String, _ subject: String = "", errno code: CInt = Glibc.errno) {
    self.call = call
    self.subject = subject
    self.errno = code
  }

  package var reason: String { unsafe String(cString: strerror(errno)) }

  package var description: String { subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)" }
}
