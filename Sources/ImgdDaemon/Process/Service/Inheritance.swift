import Glibc
import ImgdProgram

/// The descriptors that the service manager has passed, by name; each has one owner.
struct Inheritance {
  /// The name that a socket unit gives with FileDescriptorName=.
  static let socketName = "control"

  let socket: CInt?
  /// The descriptors of the previous daemon's memory tier.
  private(set) var left: [InheritedDescriptor] = []
  /// The names that imgd does not use.
  private(set) var unknown: Set<String> = []

  init(_ descriptors: [InheritedDescriptor]) {
    let control = Self.control(in: descriptors)
    socket = control?.number
    var closed = 0
    for descriptor in descriptors where descriptor != control {
      switch descriptor.name {
      case MemoryHandover.indexName, MemoryHandover.bodiesName: left.append(descriptor)
      default:
        // It has no other owner that would close it.
        Glibc.close(descriptor.number)
        unknown.insert(descriptor.name)
        closed += 1
      }
    }
    if closed > 0 { warn(ofClosed: closed) }
  }

  /// The control socket; programs other than systemd may pass it without a name.
  static func control(in descriptors: [InheritedDescriptor]) -> InheritedDescriptor? {
    descriptors.first { $0.name == socketName } ?? descriptors.first { $0.name == InheritedDescriptor.noName }
  }

  private func warn(ofClosed count: Int) {
    let names = unknown.sorted().prefix(3).map { "'\($0)'" }.joined(separator: ", ")
    Log.warning(
      .start,
      "closed what was inherited under \(names)\(unknown.count > 3 ? " and other names" : "") "
        + "(descriptors: \(count)): imgd takes one socket, named '\(Self.socketName)' by " + "FileDescriptorName=")
  }
}
