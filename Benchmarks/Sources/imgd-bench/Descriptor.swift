import Glibc

/// A descriptor, or the number of a failed call; closed with its owner.
struct Descriptor: ~Copyable {
  let number: CInt

  init(owning number: CInt) { self.number = number }

  deinit {
    if number >= 0 { close(number) }
  }
}
