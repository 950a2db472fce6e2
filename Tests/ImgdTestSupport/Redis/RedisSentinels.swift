import Glibc

/// Three real Sentinels that watch a master, and make its replica the master half a second after its death.
package final class RedisSentinels: Sendable {
  private static let count = 3

  private let reserved: [ReservedPort]
  private let name: String
  private let directories: [String]
  private let programs: Shared<[pid_t]>

  /// Waits until each of them knows the others and a replica of the master, which is to have a port.
  package init(watching master: RedisServer, as name: String) throws {
    guard let port = master.port else { throw TestFailure("the master has no port") }
    self.name = name
    reserved = try (0..<Self.count).map { _ in try ReservedPort() }
    directories = try (0..<Self.count).map { _ in try TemporaryDirectory.make() }
    programs = Shared([])
    for (number, directory) in directories.enumerated() {
      let file = directory + "/sentinel.conf"
      try write(
        """
        port \(reserved[number].port)
        bind 127.0.0.1
        unixsocket \(directory)/sentinel.socket
        dir \(directory)
        sentinel monitor \(name) 127.0.0.1 \(port) 2
        sentinel down-after-milliseconds \(name) 500
        sentinel failover-timeout \(name) 2000

        """, to: file)
      let pid = try ChildProcess.spawn(
        "/usr/bin/redis-server", [file, "--sentinel"], output: directory + "/output")
      programs.with { $0.append(pid) }
    }
    for directory in directories where try !becomes({ Self.isReady(directory, name) }) {
      throw TestFailure("a Sentinel does not know the others: \(read(directory + "/output") ?? "")")
    }
  }

  /// Where they listen, on loopback.
  package var ports: [Int] { reserved.map(\.port) }

  /// The port of the master that the first of them names; nil where it does not answer.
  package var masterPort: Int? {
    Self.ask(directories[0], "get-master-addr-by-name", name)?.last.flatMap { Int($0) }
  }

  deinit {
    for pid in programs.with({ $0 }) {
      Glibc.kill(pid, SIGKILL)
      _ = ChildProcess.wait(pid)
    }
    for directory in directories { TemporaryDirectory.remove(directory) }
  }

  private static func isReady(_ directory: String, _ name: String) -> Bool {
    guard let words = ask(directory, "MASTER", name) else { return false }
    func number(_ field: String) -> String? { words.firstIndex(of: field).map { words[$0 + 1] } }
    return number("num-other-sentinels") == "\(count - 1)" && number("num-slaves") == "1"
  }

  private static func ask(_ directory: String, _ question: String...) -> [String]? {
    let words = (["SENTINEL"] + question).map { Array($0.utf8) }
    let answer = try? RedisConversation(path: directory + "/sentinel.socket").answer(to: words)
    return answer?.list?.map { $0.text ?? "" }
  }
}
