internal import CLinux

/// The process's heap as a whole.
package enum Heap {
  /// Returns free pages to the kernel.
  package static func giveBack() {
    linux_trim_heap()
  }
}
