internal import CTestLinux
import Glibc
import ImgdSystem

/// A network of its own, with nothing but a loopback device. It ends with this object, or with the process.
package final class PrivateNetwork: Sendable {
  private let number: CInt

  package init() throws {
    number = try Self.onThread { test_make_network() }
    try perform("link", "set", "lo", "up")
  }

  deinit { close(number) }

  /// Why this machine cannot have one; nil where it can.
  package static let obstacle: String? = {
    guard geteuid() == 0 else { return "networks are made by root alone" }
    let needed = [ip, nsenter, "/dev/net/tun"]
    if let missing = needed.first(where: { access($0, R_OK) != 0 }) {
      return "there is no \(missing)"
    }
    do { _ = try PrivateNetwork() } catch { return "networks are not to be had: \(error)" }
    return nil
  }()

  private static let ip = "/usr/sbin/ip"
  private static let nsenter = "/usr/bin/nsenter"

  /// The words before a program that make it a program of this network.
  package var wrapper: [String] {
    [Self.nsenter, "--net=/proc/\(getpid())/fd/\(number)", "--"]
  }

  /// Does something on a thread that is in this network, in which sockets then stay.
  package func inside<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
    let done = Shared<Result<R, any Error>?>(nil)
    let network = number
    let thread = try Thread(name: "network") {
      let result = Result {
        guard test_enter_network(network) == 0 else { throw TestFailure("setns: errno \(errno)") }
        return try body()
      }
      done.with { $0 = result }
    }
    thread.join()
    guard let result = done.with({ $0 }) else { throw TestFailure("the thread did nothing") }
    return try result.get()
  }

  /// A device whose packets a test carries; the caller closes its descriptor.
  func tunnel(_ name: String, from own: String, to other: String) throws -> CInt {
    let device = try inside {
      let device = test_open_tunnel(name)
      guard device >= 0 else { throw TestFailure("\(name): errno \(errno)") }
      return device
    }
    try perform("address", "add", own, "peer", other, "dev", name)
    try perform("link", "set", name, "up")
    return device
  }

  /// Makes a link to another network; its device is called `pair` in both. Here its address is 10.9.0.1, there the whole
  /// of 10.9.1.0/24 is at its other end.
  package func connect(to other: PrivateNetwork) throws {
    let path = "/proc/\(getpid())/fd/\(other.number)"
    try perform("link", "add", "pair", "type", "veth", "peer", "name", "pair", "netns", path)
    try other.perform("link", "set", "pair", "up")
    try other.perform("address", "add", "10.9.0.2/16", "dev", "pair")
    try other.perform("route", "add", "local", "10.9.1.0/24", "dev", "lo")
    try setLink(up: true)
  }

  /// Takes the link to another network up, with its address, or down.
  package func setLink(up: Bool) throws {
    try perform("link", "set", "pair", up ? "up" : "down")
    if up { try perform("address", "replace", "10.9.0.1/16", "dev", "pair") }
  }

  /// Takes that link down and up again, so many times as fast as one program can.
  package func flapLink(_ count: Int) throws {
    let change = "\(Self.ip) link set pair"
    let script = "for i in $(seq \(count)); do \(change) down; \(change) up; done"
    let words = wrapper + ["/bin/sh", "-c", script]
    let (code, output) = try ChildProcess.run(words[0], Array(words.dropFirst()))
    guard code == 0 else { throw TestFailure("\(script): \(output)") }
  }

  private func perform(_ words: String...) throws {
    let words = wrapper + [Self.ip] + words
    let (code, output) = try ChildProcess.run(words[0], Array(words.dropFirst()))
    guard code == 0 else { throw TestFailure("\(words.joined(separator: " ")): \(output)") }
  }

  private static func onThread(_ body: @escaping @Sendable () -> CInt) throws -> CInt {
    let result = Shared<(number: CInt, reason: CInt)>((-1, 0))
    let thread = try Thread(name: "network") {
      let number = body()
      let reason = errno
      result.with { $0 = (number, reason) }
    }
    thread.join()
    let (number, reason) = result.with { $0 }
    guard number >= 0 else { throw TestFailure("no network: errno \(reason)") }
    return number
  }
}
