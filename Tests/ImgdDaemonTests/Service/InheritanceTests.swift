import Glibc
import ImgdSystem
import Testing

@testable import ImgdDaemon
@testable import ImgdProgram

/// Descriptors inherited from the service manager.
struct InheritanceTests {
  private func inherited(_ name: String) -> InheritedDescriptor {
    InheritedDescriptor(number: open("/dev/null", O_RDONLY | O_CLOEXEC), name: name)
  }

  @Test func `inherited descriptors have one owner each, and unknown ones are closed and reported`() {
    let socket = inherited("control")
    let left = [inherited("imgd-hot"), inherited("imgd-index"), inherited("imgd-hot")]
    var ends: [CInt] = []
    let strangers = ["stored", "control", "other", "stored"].map { name in
      var pair: [CInt] = [-1, -1]
      #expect(pipe(&pair) == 0)
      ends.append(pair[0])
      return InheritedDescriptor(number: pair[1], name: name)
    }
    let inheritance = Inheritance([socket] + left + strangers)
    #expect(inheritance.socket == socket.number && inheritance.left == left)
    #expect(inheritance.unknown == ["stored", "control", "other"])
    for end in ends {
      var byte: UInt8 = 0
      #expect(read(end, &byte, 1) == 0, "no writer is left")
      close(end)
    }
    for known in [socket] + left { #expect(close(known.number) == 0) }
    #expect(Inheritance([]).unknown.isEmpty)
  }
}
