import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct InheritedListenerTests {
  private let directory = TemporaryDirectory()
  private var path: String { directory.path + "/control" }

  private func connect(_ path: String) -> FileDescriptor {
    let number = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let code = UnixName.withAddress(of: path) { Glibc.connect(number, $0, $1) }
    if code == 0 { return FileDescriptor(owning: number) }
    close(number)
    return FileDescriptor(owning: -1)
  }

  private func inode(_ number: CInt) -> ino_t {
    var status = stat()
    return fstat(number, &status) == 0 ? status.st_ino : 0
  }

  private func hasClient(_ listener: UnixListener) -> Bool {
    if case .client = listener.accept() { true } else { false }
  }

  @Test func `an inherited listener accepts earlier and later clients`() throws {
    let number = try UnixName.listening(at: path)
    let early = connect(path)
    let listener = try UnixListener(adopting: number)
    #expect(listener.path == path)
    #expect(listener.number == number)
    #expect(hasClient(listener))
    #expect(!hasClient(listener), "it does not wait")
    let late = connect(path)
    #expect(late.number >= 0)
    #expect(hasClient(listener))
    withExtendedLifetime((early.number, late.number)) {}
  }

  @Test func `an abstract name begins with an @`() throws {
    let name = "@imgd-test-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
    let listener = try UnixListener(adopting: try UnixName.listening(at: name))
    #expect(listener.path == name)
    let client = connect(name)
    #expect(client.number >= 0)
    #expect(hasClient(listener))
  }

  @Test(arguments: [107, 108])
  func `a path may fill the whole address`(length: Int) throws {
    let name = directory.path + "/" + String(repeating: "s", count: 107)
    let path = String(name.prefix(length))
    #expect(try UnixListener(adopting: try UnixName.listening(at: path)).path == path)
  }

  @Test func `the next process finds clients that connected meanwhile`() throws {
    let number = try UnixName.listening(at: path)
    let kept = dup(number)
    do {
      let listener = try UnixListener(adopting: number)
      listener.close()
      let client = connect(path)
      #expect(client.number >= 0)
      #expect(hasClient(try UnixListener(adopting: dup(kept))))
    }
    #expect(fcntl(number, F_GETFD) < 0 || inode(number) != inode(kept))
    #expect(access(path, F_OK) == 0)
    #expect(access(path + ".lock", F_OK) != 0, "a socket that is not bound here has no lock")
    let client = connect(path)
    #expect(client.number >= 0)
    #expect(hasClient(try UnixListener(adopting: kept)))
  }

  @Test func `a descriptor that is not a listening stream socket is refused`() throws {
    let datagram = try DatagramPeer(directory.path + "/datagram")
    let silent = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    _ = UnixName.withAddress(of: path) { bind(silent, $0, $1) }
    let packets = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0)
    listen(packets, 1)
    let internet = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    listen(internet, 1)
    let null = open("/dev/null", O_RDONLY)
    defer { for number in [silent, packets, internet, null] { close(number) } }
    for number in [datagram.number, silent, packets, internet, null, -1] {
      do throws(ListenProblem) {
        _ = try UnixListener(adopting: number)
        Issue.record("descriptor \(number) was taken")
      } catch {
        guard case .notListening(number) = error else {
          Issue.record("\(error)")
          continue
        }
        #expect(error.description.contains("the inherited descriptor \(number) is not"))
        #expect(number < 0 || fcntl(number, F_GETFD) >= 0, "a refused descriptor is not closed")
      }
    }
  }
}
