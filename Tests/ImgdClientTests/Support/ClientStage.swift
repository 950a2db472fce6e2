import Glibc
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
    let daemon = stage.daemon
    try await aside { try daemon.start() }
  }

  /// Asks for the counters until they are as they should be; false when they stay otherwise for a minute.
  func becomes(_ holds: (Statistics) -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    var pause: CInt = 1
    // This task may have to wait longer than that for each of the answers.
    for attempt in 1... {
      if holds(try await client.stats()) { return true }
      if attempt > 100, ContinuousClock.now > end { break }
      let length = pause
      _ = try await aside { poll(nil, 0, length) }
      pause = min(pause * 2, 32)
    }
    return false
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
