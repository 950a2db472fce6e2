internal import CLinux

/// The words that the process was started with.
///
/// `CommandLine.arguments` has none of them where a preloaded library has set an environment variable.
package enum ProcessArguments {
  /// The words after the program's name.
  package static var all: [String] {
    // The kernel has put them on the stack, where they stay as long as the process.
    (1..<max(1, linux_argument_count())).compactMap { index in
      unsafe linux_argument(index).map { unsafe String(cString: $0) }
    }
  }
}
