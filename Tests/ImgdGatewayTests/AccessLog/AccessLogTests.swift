import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdGateway

struct AccessLogTests {
  private let directory = TemporaryDirectory()
  private var path: String { directory.path + "/access.log" }

  private func entry(_ target: String) -> AccessEntry {
    AccessEntry(time: 0, method: "GET", target: target, status: 200, bytes: 1, duration: .zero)
  }

  private func targets(in path: String) -> [String] {
    (read(path) ?? "").split(separator: "\n").compactMap { line in
      line.split(separator: " ").first { $0.hasPrefix("/") }.map(String.init)
    }
  }

  @Test func `lines are written in their order, and all before the end`() throws {
    let log = try AccessLog(as: .combined, into: path)
    for number in 1...1_000 { log.append(entry("/\(number)")) }
    log.finish(within: Patience.limit)
    #expect(targets(in: path) == (1...1_000).map { "/\($0)" } && log.lost == 0)
  }

  @Test func `the file is its owner's alone`() throws {
    _ = try AccessLog(as: .json, into: path)
    #expect(try FileStatus.of(path: path).permissions & 0o077 == 0)
  }

  @Test func `a file that was moved away is followed by a new one`() throws {
    let log = try AccessLog(as: .combined, into: path)
    log.append(entry("/before"))
    #expect(try becomes { targets(in: path) == ["/before"] })
    #expect(rename(path, path + ".1") == 0)
    log.append(entry("/after"))
    log.finish(within: Patience.limit)
    #expect(targets(in: path) == ["/after"] && targets(in: path + ".1") == ["/before"])
  }

  @Test func `a file that cannot be opened is no log`() {
    #expect(throws: SystemFailure.self) { try AccessLog(as: .json, into: directory.path + "/none/access.log") }
    #expect(throws: SystemFailure.self) { try AccessLog(as: .json, into: directory.path) }
    #expect(symlink("/dev/null", path) == 0)
    #expect(throws: SystemFailure.self) { try AccessLog(as: .json, into: path) }
  }

  @Test func `what cannot be written is counted as lost`() throws {
    let log = try AccessLog(as: .combined, into: path)
    #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
    log.append(entry("/lost"))
    #expect(try becomes { log.lost == 1 })
    #expect(rmdir(path) == 0)
    log.append(entry("/kept"))
    log.finish(within: Patience.limit)
    #expect(targets(in: path) == ["/kept"] && log.lost == 1)
  }

  @Test func `more than may wait is lost, and counted`() throws {
    let log = try AccessLog(as: .combined, into: path)
    let large = entry("/" + String(repeating: "x", count: AccessLog.mostWaiting))
    log.append(large)
    log.append(entry("/kept"))
    log.finish(within: Patience.limit)
    #expect(log.lost == 1 && targets(in: path) == ["/kept"])
  }

  @Test func `one of so many is logged, and each failure`() throws {
    let log = try AccessLog(as: .json, into: path, sample: 3)
    #expect((1...9).map { _ in log.wants(200) } == [true, false, false, true, false, false, true, false, false])
    #expect((1...9).allSatisfy { _ in log.wants(500) && log.wants(503) })
  }
}
