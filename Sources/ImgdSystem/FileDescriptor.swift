import Glibc

/// The only owner of one descriptor: closed once, when the owner goes.
package struct FileDescriptor: ~Copyable {
  package let number: CInt

  package init(owning number: CInt) {
    self.number = number
  }

  deinit {
    Glibc.close(number)
  }

  /// Gives the descriptor away: from here on the caller closes it.
  package consuming func release() -> CInt {
    let number = self.number
    discard self
    return number
  }
}
