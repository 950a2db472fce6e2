import ImgdTestSupport
import Testing

/// Runs one server for all tests of a suite, and ends it with the suite.
struct NginxRunning: SuiteTrait, TestScoping {
  @TaskLocal fileprivate static var server: NginxOrigin?

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let server = try NginxOrigin(bodies: ["a.png": sample(100_000)])
    try await Self.$server.withValue(server) { try await function() }
  }
}

extension Trait where Self == NginxRunning {
  static var nginxRunning: NginxRunning { NginxRunning() }
}

extension NginxOrigin {
  /// The server of the suite that is running.
  static func current() throws -> NginxOrigin {
    guard let server = NginxRunning.server else { throw TestFailure("the suite runs no server") }
    return server
  }
}
