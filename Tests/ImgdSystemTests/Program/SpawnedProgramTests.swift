import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct SpawnedProgramTests {
  /// What a command of the shell does, and what it writes to its channel.
  private func run(_ command: String) throws -> (end: SpawnedProgram.End?, text: String) {
    let ends = try Ends()
    let program = try SpawnedProgram("/bin/sh", ["-c", command], channel: ends.far)
    let end = program.reap(waiting: true)
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = recv(ends.near.number, &bytes, bytes.count, CInt(MSG_DONTWAIT))
    return (end, String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self))
  }

  @Test func `the end of a program is known`() throws {
    #expect(try run("exit 7").end == .exited(7))
    #expect(try run("kill -ABRT $$").end == .signalled(SIGABRT))
  }

  @Test func `a program has its channel and no other descriptor`() throws {
    // The shell keeps copies of its own from 10 on where a loop is redirected, so all of it is.
    let further = fcntl(0, F_DUPFD, 10)
    defer { close(further) }
    let (_, text) = try run(
      "exec >&3; for n in 0 1 2 3 4 5 6 7 8 9 \(further); do test -e /proc/$$/fd/$n && printf $n; done"
    )
    #expect(text == "0123")
    #expect(try run("readlink /proc/$$/fd/[012] | sort -u >&3").text == "/dev/null\n")
  }

  @Test func `a program inherits no environment`() throws {
    #expect(try run("cat /proc/$$/environ >&3").text == "SWIFT_BACKTRACE=enable=no\0")
  }

  @Test func `a program gets its signals`() throws {
    var blocked = sigset_t()
    var before = sigset_t()
    sigemptyset(&blocked)
    sigaddset(&blocked, SIGUSR1)
    pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    #expect(try run("kill -USR1 $$; sleep 60").end == .signalled(SIGUSR1))
  }

  @Test func `a program is no member of its parent's group`() throws {
    let (_, text) = try run("cut -d' ' -f 5 /proc/$$/stat >&3; echo $$ >&3")
    let lines = text.split(separator: "\n")
    #expect(lines.count == 2 && lines.first == lines.last)
  }

  @Test func `a missing program is a failure`() throws {
    let ends = try Ends()
    let failure = #expect(throws: SystemFailure.self) {
      _ = try SpawnedProgram("/nowhere/decoder", [], channel: ends.far)
    }
    #expect(failure?.errno == ENOENT)
  }

  @Test func `a program tells a loop of its end, once`() throws {
    let loop = try EventLoop()
    let ends = try Ends()
    let program = try SpawnedProgram("/bin/sh", ["-c", "read line <&3"], channel: ends.far)
    var end: SpawnedProgram.End?
    let watch = try loop.watch(program.descriptor, for: .read) { _ in
      end = program.reap()
      loop.stop()
    }
    #expect(program.reap() == nil)
    #expect(Glibc.write(ends.near.number, "go\n", 3) == 3)
    loop.run()
    #expect(end == .exited(0))
    watch.cancel()
  }

  @Test func `a program that nobody needs any more is killed and reaped`() throws {
    let ends = try Ends()
    let pid: pid_t
    do {
      let program = try SpawnedProgram("/bin/sleep", ["600"], channel: ends.far)
      pid = program.pid
      withExtendedLifetime(program) { #expect(kill(pid, 0) == 0) }
    }
    #expect(kill(pid, 0) == -1 && errno == ESRCH)
  }
}

/// A channel: the test's end, and the one that a program gets.
private struct Ends: ~Copyable {
  let near: FileDescriptor
  let far: FileDescriptor

  init() throws {
    var numbers: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &numbers) == 0 else { throw SystemFailure("socketpair") }
    near = FileDescriptor(owning: numbers[0])
    far = FileDescriptor(owning: numbers[1])
  }
}
