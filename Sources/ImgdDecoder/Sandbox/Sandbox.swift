// What the process keeps itself from, in layers, so that a hole in one of them is not a way out:
//
// - process: it gains no rights by starting a program, cannot be looked into, and is killed with its parent;
// - limits: memory, the size and the number of files;
// - files: Landlock, with no rule at all, so that no name leads to a file, nor an address to a service;
// - calls: a filter of system calls, which permits only what computing and the channel need.
//
// Landlock applies to the thread that asks for it and to those that it starts: so there must be no other one yet.

import CLinux
import Glibc
import ImgdDecode
import ImgdSystem

/// The walls around the process.
enum Sandbox {
  /// The number of the channel from here on.
  private static let channel: CInt = 3
  /// An order takes three: its picture, what is made of it, and one more while that is sealed.
  private static let descriptors: UInt64 = 16
  private static let priority: CInt = 10

  /// Ties the process to its parent's life and drops what came from it. If the parent is gone already, the channel
  /// has ended.
  static func begin(channel number: CInt) -> DecodeChannel? {
    _ = linux_die_with_parent()
    guard fcntl(number, F_GETFD) >= 0, linux_keep_descriptor(number, channel) == 0 else { return nil }
    _ = clearenv()
    linux_lower_priority(priority)
    // An arena for each thread would reserve 64 MB of addresses.
    linux_limit_arenas(2)
    return DecodeChannel(FileDescriptor(owning: channel))
  }

  /// Shuts the process off and returns the layers that hold, each of which was checked.
  static func shut(memory: Int) -> DecoderAbilities.Layers {
    var layers: DecoderAbilities.Layers = []
    let isAlone = AddressSpace.isThreadAlone()
    let most = UInt64(clamping: memory).addingReportingOverflow(AddressSpace.mapped)
    if !most.overflow, linux_limit_process(most.partialValue, UInt64(clamping: memory), descriptors) == 0 {
      layers.insert(.limits)
    }
    if linux_give_up_rights() == 0, linux_has_given_up_rights() != 0 { layers.insert(.process) }
    if isAlone, linux_give_up_files() == 0, isWithoutFiles { layers.insert(.files) }
    if CallFilter.load(), isWithoutCalls { layers.insert(.calls) }
    return layers
  }

  private static var isWithoutFiles: Bool {
    let root = unsafe open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard root >= 0 else { return errno == EACCES }
    close(root)
    return false
  }

  /// Tries a call that cannot fail without the filter.
  private static var isWithoutCalls: Bool { getppid() < 0 }
}
