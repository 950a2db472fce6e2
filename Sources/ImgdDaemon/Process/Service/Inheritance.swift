import Glibc
import ImgdSystem

/// What the service manager has handed over at the start, by name; each descriptor has one owner.
struct Inheritance {
  /// The name that a socket unit gives with FileDescriptorName=.
  static let socketName = "control"

  let socket: CInt?
  /// What the daemon before this one has left of its memory tier.
  private(set) var left: [InheritedDescriptor] = []
  /// The names of what nobody here knows.
  private(set) var unknown: Set<String> = []

  init(_ descriptors: [InheritedDescriptor]) {
    let control = Self.control(in: descriptors)
    socket = control?.number
    var closed = 0
    for descriptor in descriptors where descriptor != control {
      switch descriptor.name {
      case MemoryHandover.indexName, MemoryHandover.bodiesName: left.append(descriptor)
      default:
        // It would stay open for good.
        Glibc.close(descriptor.number)
        unknown.insert(descriptor.name)
        closed += 1
      }
    }
    if closed > 0 { complain(of: closed) }
  }

  /// Who starts services by hand may have no names to give.
  static func control(in descriptors: [InheritedDescriptor]) -> InheritedDescriptor? {
    descriptors.first { $0.name == socketName }
      ?? descriptors.first { $0.name == InheritedDescriptor.noName }
  }

  private func complain(of count: Int) {
    let names = unknown.sorted().prefix(3).map { "'\($0)'" }.joined(separator: ", ")
    Log.warning(
      .start,
      "closed what was inherited under \(names)\(unknown.count > 3 ? " and other names" : "") "
        + "(descriptors: \(count)): imgd takes one socket, named '\(Self.socketName)' by "
        + "FileDescriptorName=")
  }
}
