import ImgdTestSupport
import Testing

/// Performs each test once with every program that is installed and can be a fleet's server.
struct EachServer: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    for program in RedisProgram.allCases where program.isInstalled {
      try await RedisProgram.$current.withValue(program) { try await function() }
    }
  }
}

extension Trait where Self == EachServer {
  static var eachServer: Self { EachServer() }
}
