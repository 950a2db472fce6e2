internal import CLinux
import Glibc

/// Numbers that nobody can foresee, from the kernel.
package enum Randomness {
  /// Replaces every word by a random one.
  package static func fill(_ words: inout [UInt64]) {
    let filled = unsafe words.withUnsafeMutableBytes {
      unsafe linux_random($0.baseAddress, $0.count)
    }
    precondition(filled == 0, "the kernel has random numbers once it has started")
  }
}
