internal import CLinux
import Glibc

/// The environment that the process was started with.
package enum ProcessEnvironment {
  /// Every variable by name; entries without `=` are left out.
  package static var all: [String: String] {
    var variables: [String: String] = [:]
    guard var entry = unsafe linux_environment() else { return variables }
    while let text = unsafe entry.pointee {
      let line = unsafe String(cString: text)
      if let equals = line.firstIndex(of: "=") {
        variables[String(line[..<equals])] = String(line[line.index(after: equals)...])
      }
      unsafe entry += 1
    }
    return variables
  }
}

/// The default path of an instance's control socket.
package enum ControlSocketPlace {
  /// The socket of the system instance.
  package static let system = "/run/imgd/imgd.sock"

  /// The socket of a user's own instance; without XDG_RUNTIME_DIR, in the directory that logind creates.
  package static func user(environment: [String: String], uid: UInt32) -> String {
    let named = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    return (named ?? "/run/user/\(uid)") + "/imgd/imgd.sock"
  }
}

/// The words of the command line; `CommandLine.arguments` is empty where a preloaded library has set a variable.
package enum ProcessArguments {
  /// The words after the program's name.
  package static var all: [String] {
    // The kernel has put them on the stack, where they stay as long as the process.
    (1..<max(1, linux_argument_count())).compactMap { index in
      unsafe linux_argument(index).map { unsafe String(cString: $0) }
    }
  }
}

/// The limit on open descriptors.
package enum OpenFiles {
  /// Raises the soft limit to the hard one: every client and every large picture takes a descriptor. To be called before
  /// there are threads: the kernel doubles its table of descriptors whenever it is full, and in a process with threads
  /// that takes ten milliseconds and more. So room is made for the clients that may come, and as many pictures.
  package static func raiseLimit(forClients count: Int) {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let last = min(2 * count + 1_024, Int(clamping: limit.rlim_cur) - 1)
    let copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, CInt(clamping: last))
    if copy >= 0 { close(copy) }
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

  /// Has malloc keep what was freed a moment ago. By default it returns all but some 256 KiB to the kernel at once:
  /// libcurl takes a room of 128 KiB for each transfer, whose pages would be new for each.
  package static func keepFreed() { linux_keep_freed(4 << 20) }

  /// Returns free pages to the kernel.
  package static func giveBack() {
    BodySlabs.shared.giveBack()
    linux_trim_heap()
  }
}

/// The last line of a process.
package enum LastWords {
  /// Has the process say by which signal it ends, and where, if that is its own mistake. In a stream to the journal the
  /// line begins with its priority.
  package static func prepare(for program: StaticString, isStream: Bool) {
    // A literal has a zero at its end, and lasts.
    unsafe program.utf8Start.withMemoryRebound(to: CChar.self, capacity: program.utf8CodeUnitCount + 1) {
      unsafe linux_tell_traps($0, isStream ? 1 : 0)
    }
  }
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
