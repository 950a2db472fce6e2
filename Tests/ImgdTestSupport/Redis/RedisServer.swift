import Glibc
import ImgdSystem

/// A program that speaks the protocol of Redis.
package enum RedisProgram: String, CaseIterable, Sendable {
  case redis = "/usr/bin/redis-server"
  case valkey = "/usr/bin/valkey-server"

  /// The one that a task starts as its servers.
  @TaskLocal package static var current = redis

  package var isInstalled: Bool { unsafe access(rawValue, X_OK) == 0 }
}

/// A real redis-server with a directory of its own, at a Unix socket, and at a loopback port where one is
/// asked for. It keeps nothing beyond its process unless its options say so.
package final class RedisServer: Sendable {
  /// What imgd asks of a server.
  package static let rules = ["--maxmemory-policy", "volatile-lfu"]

  package let directory: String
  package let socket: String
  private let reserved: ReservedPort?
  private let wrapper: [String]
  private let executable = RedisProgram.current.rawValue
  /// Nil while it does not run.
  private let program: Shared<pid_t?>
  private let options: Shared<[String]>

  /// Starts a server and waits until it answers, if only by asking for a password; where `waits` is false, until it
  /// listens. In another network it is still reached at its Unix socket.
  package init(
    _ options: [String] = RedisServer.rules, onPort hasPort: Bool = false, waits: Bool = true,
    in network: PrivateNetwork? = nil
  ) throws {
    wrapper = network?.wrapper ?? []
    directory = try TemporaryDirectory.make()
    socket = directory + "/redis.socket"
    reserved = hasPort ? try ReservedPort() : nil
    program = Shared(nil)
    self.options = Shared(options)
    try start(waits: waits)
  }

  deinit {
    kill()
    TemporaryDirectory.remove(directory)
  }

  package var port: Int? { reserved?.port }

  /// The number of its process.
  package var pid: pid_t? { program.with { $0 } }

  // MARK: Its life

  /// Starts it again after `kill`, with other options if there are any.
  package func start(_ others: [String]? = nil, waits: Bool = true) throws {
    let options = options.with { options in
      if let others { options = others }
      return options
    }
    let places =
      ["--unixsocket", socket, "--dir", directory, "--port", String(port ?? 0)]
      + ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"]
    let words = wrapper + [executable] + places + options
    let pid = try ChildProcess.spawn(
      words[0], Array(words.dropFirst()), output: directory + "/output")
    program.with { $0 = pid }
    try waitUntilThere(answering: waits)
  }

  /// Ends it at once, by SIGKILL; what it had in memory is gone.
  package func kill() {
    let pid = program.with { program in
      defer { program = nil }
      return program
    }
    guard let pid else { return }
    Glibc.kill(pid, SIGKILL)
    _ = ChildProcess.wait(pid)
  }

  /// Ends it and starts another one in its place, which has nothing.
  package func restartEmpty() throws {
    kill()
    try start()
  }

  /// Stops it where it is, as if its machine were: connections stay, and nothing is answered.
  package func freeze() {
    if let pid { Glibc.kill(pid, SIGSTOP) }
  }

  /// Lets it go on after `freeze`.
  package func thaw() {
    if let pid { Glibc.kill(pid, SIGCONT) }
  }

  /// Carries out no command that writes until `resumeWrites`, and those of a client that is gone by then never.
  package func holdWrites() throws { try command("CLIENT", "PAUSE", "600000", "WRITE") }

  /// Goes on after `holdWrites`.
  package func resumeWrites() throws { try command("CLIENT", "UNPAUSE") }

  /// How many clients wait for a command of this name.
  package func held(_ name: String) throws -> Int {
    let clients = try command("CLIENT", "LIST").text?.split(separator: "\n") ?? []
    return clients.count { $0.contains(" flags=b") && $0.contains(" cmd=\(name) ") }
  }

  // MARK: Commands

  /// Carries out one command on a connection of its own.
  @discardableResult
  package func command(_ parts: String...) throws -> RedisValue {
    try command(parts.map { Array($0.utf8) })
  }

  /// The same with parts that may be any bytes.
  @discardableResult
  package func command(_ parts: [[UInt8]]) throws -> RedisValue {
    try RedisConversation(path: socket).answer(to: parts)
  }

  // MARK: Its start

  private func waitUntilThere(answering: Bool) throws {
    guard let pid else { throw TestFailure("redis-server has been ended") }
    do {
      try ChildProcess.awaitStart(of: pid, saying: read(directory + "/output") ?? "") {
        answering ? isAnswering : isListening
      }
    } catch {
      kill()
      throw error
    }
  }

  private var isListening: Bool {
    do {
      _ = try ClientSocket(path: socket)
      return true
    } catch { return false }
  }

  private var isAnswering: Bool {
    guard let answer = try? command("PING") else { return false }
    if case .failure(let text) = answer { return !text.hasPrefix("LOADING") }
    return true
  }
}
