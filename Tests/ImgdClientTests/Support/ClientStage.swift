import ImgdClient
import ImgdSystem
import ImgdTestSupport
import ImgdWire

/// A daemon with an origin, and a client of the library.
struct ClientStage: Sendable {
  let stage: Stage
  let client: Imgd

  /// With time enough: a test may have to wait for others before it goes on.
  init(_ setting: String = "Downloads.Order=fifo") async throws {
    let stage = try await aside {
      try Stage(
        "Downloads.Retries=0", "Downloads.IdleTimeout=1h", "Downloads.Timeout=1h", setting)
    }
    self.stage = stage
    client = Imgd(socket: stage.daemon.socket)
  }

  var origin: OriginServer { stage.origin }

  /// The URL of a path, for which the origin now has an answer.
  func url(_ path: String, _ answer: OriginAnswer) -> String {
    origin.plan(path, answer)
    return origin.url(path)
  }

  /// Waits until the origin is asked for a path.
  func isAsked(_ path: String) async throws -> Bool {
    let origin = origin
    return try await aside { origin.waitForRequests(path) }
  }

  /// Waits until no connection to the origin is left.
  func originIsLetGo() async throws -> Bool {
    let origin = origin
    return try await aside { origin.waitForOpenConnections(0) }
  }

  /// Stops the daemon, like a crash.
  func kill() async throws {
    let daemon = stage.daemon
    try await aside { daemon.kill() }
  }

  /// Starts the daemon again, and waits until it answers.
  func start() async throws {
    let stage = stage
    try await aside { try stage.restart() }
  }

  /// Asks for a counter until it is as it should be; false when it stays otherwise for a minute.
  ///
  /// The stage's own client asks, beside the library: what is waited for may need all the threads of tasks.
  func becomes(_ section: String, _ name: String, _ wanted: Int) async throws -> Bool {
    let witness = stage.client
    return try await aside {
      try ImgdTestSupport.becomes {
        try witness.ask(#"{"cmd":"stats"}"#)[section]?[name]?.integer == Int64(wanted)
      }
    }
  }
}

/// Runs what waits on a thread of its own: those of tasks are few, and the test's own tasks need them.
func aside<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    do {
      _ = try ImgdSystem.Thread(name: "aside") {
        continuation.resume(with: Result { try body() })
      }
    } catch { continuation.resume(throwing: error) }
  }
}

/// The error of a request; nil where it succeeds.
func failure(_ body: () async throws -> Void) async -> (any Error)? {
  do {
    try await body()
    return nil
  } catch { return error }
}
