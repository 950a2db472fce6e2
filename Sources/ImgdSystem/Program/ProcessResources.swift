internal import CLinux
import Glibc

/// The limit on open descriptors.
package enum OpenFiles {
  /// Raises the soft limit to the hard one: every client and every large picture takes a descriptor.
  package static func raiseLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Whether a descriptor that was just opened is one of the last quarter, which is reserved for
  /// clients, downloads and files: the kernel assigns the lowest free number.
  package static func isReserve(_ number: CInt) -> Bool { number >= firstReserved }

  /// The first number of the last quarter, for a caller who opens many.
  package static var firstReserved: CInt {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return CInt(clamping: limit.rlim_cur - limit.rlim_cur / 4)
  }
}

/// The heap of the process.
package enum Heap {
  /// Has small pieces merged when they are freed. By default malloc puts them aside, and merges all of them in
  /// one go when it needs a large piece: after a purge of 100,000 pictures that takes 30 ms.
  package static func mergeFreedAtOnce() { linux_merge_freed() }

  /// Returns free pages to the kernel.
  package static func giveBack() { linux_trim_heap() }
}

/// The kernel's random numbers.
package enum Randomness {
  /// Fills every word with random bits.
  package static func fill(_ words: inout [UInt64]) {
    let filled = unsafe words.withUnsafeMutableBytes { unsafe linux_random($0.baseAddress, $0.count) }
    precondition(filled == 0, "getrandom fails only while the kernel starts")
  }
}

/// The processors of the machine.
package enum Processors {
  /// How many this process may use.
  package static let count = Int(linux_processor_count())
}
