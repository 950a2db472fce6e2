import ImgdConnection
import ImgdSystem
import ImgdWire

/// The daemon's answers to the questions of `imgctl doctor`.
struct Interview {
  /// What a working daemon says about itself.
  struct Answers {
    let hello: Reply
    let stats: Reply
    let config: Reply
  }

  let findings: [Finding]
  let answers: Answers?

  init(_ context: Context, _ place: SocketPlace) {
    do throws(Failure) {
      let connection = try context.connect()
      let start = Instant.current
      _ = try context.ask(.ping, over: connection)
      let microseconds = (Instant.current - start).nanoseconds / 1000
      let answers = Answers(
        hello: try context.ask(.hello, over: connection).reply, stats: try context.ask(.stats, over: connection).reply,
        config: try context.ask(.config, over: connection).reply)
      self.answers = answers
      findings = [.ok("answer", "after \(microseconds) µs"), Self.version(of: answers.hello, place)]
    } catch {
      answers = nil
      findings = [.problem("answer", error.sentence, remedy: Self.remedy(error, place))]
    }
  }

  /// A daemon that cannot start tells everyone who asks why it cannot.
  private static func remedy(_ failure: Failure, _ place: SocketPlace) -> String {
    guard !failure.sentence.hasPrefix("imgd cannot start: ") else {
      return "correct that: imgd --check-config tells all mistakes of a configuration"
    }
    return "see why in the log of imgd\(place.logCommand), or start it: \(place.startCommand)"
  }

  private static func version(of hello: Reply, _ place: SocketPlace) -> Finding {
    let daemon = hello.text("version") ?? "?"
    guard daemon != Release.version else { return .ok("version", "imgd and imgctl \(daemon)") }
    return .note(
      "version", "imgd is \(daemon), and imgctl is \(Release.version)",
      remedy: "if it was updated, restart imgd\(place.restartCommand)")
  }
}
