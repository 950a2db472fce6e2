import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct UnixListenerTests {
  let directory = TemporaryDirectory()
  var path: String { directory.path + "/imgd.sock" }

  @Test func `clients are accepted one by one`() throws {
    let listener = try UnixListener(path: path)
    #expect(outcome(of: listener) == .nobody)
    let one = connected(to: path)
    let two = connected(to: path)
    #expect(outcome(of: listener) == .client)
    #expect(outcome(of: listener) == .client)
    #expect(outcome(of: listener) == .nobody)
    #expect(one.number >= 0 && two.number >= 0)
  }

  @Test func `a listener wakes its loop`() throws {
    let loop = try EventLoop()
    let listener = try UnixListener(path: path)
    var accepted: [Accepted] = []
    let watch = try loop.watch(listener.number, for: .read) { _ in
      accepted.append(outcome(of: listener))
    }
    let client = connected(to: path)
    loop.settle()
    #expect(accepted == [.client])
    watch.cancel()
    #expect(client.number >= 0)
  }

  @Test func `a listener is open to owner and group for every umask`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      for mask: mode_t in [0, 0o022, 0o077, 0o777] {
        umask(mask)
        let path = directory.path + "/\(mask).sock"
        let listener = try UnixListener(path: path)
        var status = stat()
        try #require(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o660)
        listener.close()
        try #require(umask(0) == mask, "the umask is as it was")
      }
    }
  }

  /// What is done to it by its path later may be done to another file that has taken its place.
  @Test func `the socket's file is made with its mode, and never changed`() throws {
    let notes = FileDescriptor(owning: inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC)))
    let interest = UInt32(IN_CREATE | IN_ATTRIB | IN_MOVED_TO)
    #expect(inotify_add_watch(notes.number, directory.path, interest) >= 0)
    let listener = try UnixListener(path: path)
    listener.close()
    #expect(
      changes(notes.number) == [
        "imgd.sock.lock": UInt32(IN_CREATE), "imgd.sock": UInt32(IN_CREATE),
      ])
  }

  /// All that has happened to each name so far.
  private func changes(_ notes: CInt) -> [String: UInt32] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
    defer { room.deallocate() }
    let count = read(notes, room.baseAddress, room.count)
    var (changes, place) = ([String: UInt32](), 0)
    let head = MemoryLayout<inotify_event>.size
    while place < count {
      let event = room.load(fromByteOffset: place, as: inotify_event.self)
      let name = room[place + head..<place + head + Int(event.len)].prefix { $0 != 0 }
      changes[String(decoding: name, as: UTF8.self), default: 0] |= event.mask
      place += head + Int(event.len)
    }
    return changes
  }

  @Test func `a listener creates its directory`() throws {
    let path = directory.path + "/made/imgd.sock"
    let listener = try UnixListener(path: path)
    #expect(connected(to: path).number >= 0)
    listener.close()
    for name in ["/made/imgd.sock.lock"] { unlink(directory.path + name) }
  }

  @Test func `a listener creates no more than one directory`() {
    let parent = directory.path + "/a/b"
    let problem = problem(at: parent + "/imgd.sock")
    #expect(problem.contains("\(parent)/imgd.sock"))
    #expect(problem.contains("--socket"))
    #expect(!exists(directory.path + "/a"))
  }

  /// In a process that starts no other: another would hold the lock until it has started.
  @Test func `a second listener is refused while the first exists`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let path = directory.path + "/imgd.sock"
      var first: UnixListener? = try UnixListener(path: path)
      try #require(problem(at: path) == "\(path) is served by another daemon that is running")
      try #require(connected(to: path).number >= 0, "the first is as it was")
      try #require(first?.path == path)
      first = nil
      try #require(exists(path), "gone without closing, as in a crash")
      try #require(problem(at: path) == "none")
    }
  }

  @Test func `a live socket without a lock is left alone`() throws {
    let foreign = foreignDaemon(at: path)
    #expect(problem(at: path) == "\(path) is served by another daemon that is running")
    // A full queue also shows a live daemon.
    let clients = (0..<8).map { _ in Client(connected(to: path, waiting: false)) }
    #expect(problem(at: path) == "\(path) is served by another daemon that is running")
    #expect(exists(path) && foreign.number >= 0 && clients.count == 8)
  }

  @Test func `a socket of another kind is left alone`() {
    let foreign = foreignDaemon(at: path, SOCK_DGRAM)
    #expect(problem(at: path) == "connect \(path): Protocol wrong type for socket")
    #expect(exists(path) && foreign.number >= 0)
  }

  /// In a process that starts no other: another would hold the socket until it has started.
  @Test func `a stale socket is replaced`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let path = directory.path + "/imgd.sock"
      do { _ = foreignDaemon(at: path) }
      try #require(exists(path))
      let listener = try UnixListener(path: path)
      try #require(connected(to: path).number >= 0)
      try #require(outcome(of: listener) == .client)
    }
  }

  /// Each at its own path, because a process that is just being started may hold the previous lock.
  @Test(arguments: ["file", "link", "directory"])
  func `another file at the path is left alone`(kind: String) {
    switch kind {
    case "file": _ = FileDescriptor(owning: open(path, O_WRONLY | O_CREAT, 0o600))
    case "link": symlink("/dev/null", path)
    default: mkdir(path, 0o700)
    }
    #expect(problem(at: path) == "\(path) exists and is not a socket; it is left as it is")
    #expect(exists(path))
  }

  @Test func `a link in place of the lock is not followed`() {
    symlink(directory.path + "/elsewhere", path + ".lock")
    #expect(problem(at: path).hasPrefix("open \(path).lock: "))
    #expect(!exists(directory.path + "/elsewhere"))
  }

  @Test func `a path that is too long is refused`() throws {
    let longest =
      directory.path + "/" + String(repeating: "x", count: 106 - directory.path.utf8.count)
    #expect(longest.utf8.count == 107)
    #expect(problem(at: longest) == "none")
    let tooLong = longest + "x"
    #expect(
      problem(at: tooLong) == "the socket path \(tooLong) has 108 bytes; Linux takes at most 107")
    #expect(!exists(tooLong + ".lock"))
  }

  @Test func `an empty path is refused`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      chdir(directory.path)
      let problem = #expect(throws: ListenProblem.self) { try UnixListener(path: "") }
      try #require(problem?.description == "bind: No such file or directory")
    }
  }

  @Test func `closing removes only its own socket`() throws {
    let listener = try UnixListener(path: path)
    listener.close()
    #expect(!exists(path))
    #expect(outcome(of: listener) == .nobody)
    let successor = foreignDaemon(at: path)
    listener.close()
    #expect(exists(path), "it belongs to another")
    #expect(successor.number >= 0)
    #expect(exists(path + ".lock"), "the lock's file stays")
  }

  @Test func `a client that has gone already is still accepted`() throws {
    let listener = try UnixListener(path: path)
    do { _ = connected(to: path) }
    #expect(outcome(of: listener) == .client)
    #expect(outcome(of: listener) == .nobody)
  }

  /// Beyond the limit clients are still accepted, told so, and closed.
  @Test func `a client beyond the limit is accepted with the reserve`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let listener = try UnixListener(path: directory.path + "/s")
      let clients = [Client(connected(to: listener.path)), Client(connected(to: listener.path))]
      limitDescriptors(to: 3)
      try #require(outcome(of: listener) == .exhausted, "no room even without the reserve")
      close(0)
      for _ in clients {
        guard case .beyondDescriptors(let socket) = listener.accept() else { exit(1) }
        try #require(socket.send([1], in: 0..<1, with: nil) == 1)
        try #require(outcome(of: listener) == .exhausted, "the reserve is in use")
        _ = consume socket
        listener.restoreReserve()
      }
      try #require(outcome(of: listener) == .nobody)
      for client in clients {
        var byte: UInt8 = 0
        try #require(read(client.number, &byte, 1) == 1 && byte == 1)
      }
    }
  }

  @Test func `the reserve is restored by itself`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let listener = try UnixListener(path: directory.path + "/s")
      let clients = (0..<3).map { _ in Client(connected(to: listener.path)) }
      limitDescriptors(to: 3)
      try #require(outcome(of: listener) == .exhausted, "no room even without the reserve")
      close(0)
      for _ in clients { try #require(outcome(of: listener) == .beyondDescriptors) }
      try #require(outcome(of: listener) == .nobody)
    }
  }

  /// A live daemon must not be considered dead for lack of a descriptor to connect with.
  @Test func `a socket is not removed for lack of descriptors`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let path = directory.path + "/s"
      let daemon = FileDescriptor(owning: socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0))
      try #require(withAddress(of: path) { bind(daemon.number, $0, $1) } == 0)
      listen(daemon.number, 1)
      limitDescriptors(to: 3)
      close(0)  // for the lock
      let problem = #expect(throws: ListenProblem.self) { try UnixListener(path: path) }
      try #require(problem?.description == "socket: Too many open files")
      try #require(access(path, F_OK) == 0)
    }
  }

  @Test func `a failed listener leaves nothing open`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      mkdir(directory.path + "/s", 0o700)
      let sockets = openDescriptors(of: "socket:")
      for _ in 0..<20 {
        #expect(throws: ListenProblem.self) { try UnixListener(path: directory.path + "/s") }
      }
      try #require(openDescriptors(of: "socket:") == sockets)
      try #require(openDescriptors(of: directory.path) == 0, "the lock")
    }
  }
}

private func problem(at path: String) -> String {
  do throws(ListenProblem) {
    _ = try UnixListener(path: path)
    return "none"
  } catch { return error.description }
}

private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

/// A socket that listens at `path` without a lock.
private func foreignDaemon(
  at path: String, _ kind: __socket_type = SOCK_STREAM
) -> FileDescriptor {
  let socket = FileDescriptor(owning: socket(AF_UNIX, CInt(kind.rawValue), 0))
  #expect(withAddress(of: path) { bind(socket.number, $0, $1) } == 0)
  if kind == SOCK_STREAM { listen(socket.number, 1) }
  return socket
}

private enum Accepted: Equatable { case client, beyondDescriptors, nobody, exhausted }

private func outcome(of listener: UnixListener) -> Accepted {
  switch listener.accept() {
  case .client: .client
  case .beyondDescriptors: .beyondDescriptors
  case .nobody: .nobody
  case .exhausted: .exhausted
  }
}

/// A client's descriptor, in a form that an array can hold.
private final class Client {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  var number: CInt { descriptor.number }
}

private func connected(to path: String, waiting: Bool = true) -> FileDescriptor {
  let kind = SOCK_STREAM.rawValue | (waiting ? 0 : SOCK_NONBLOCK.rawValue)
  let number = socket(AF_UNIX, CInt(kind), 0)
  let code = withAddress(of: path) { connect(number, $0, $1) }
  guard code != 0, waiting else { return FileDescriptor(owning: number) }
  close(number)
  return FileDescriptor(owning: -1)
}

private func withAddress(
  of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
) -> CInt {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  return withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}
