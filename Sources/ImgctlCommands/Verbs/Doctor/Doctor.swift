import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl doctor`: looks for reasons why imgd does not work, or not as well as it could.
struct Doctor: Verb {
  static let description = VerbDescription(
    "doctor", "find out why imgd does not work", options: [.json],
    details: """
      Checks the socket and who may use it, the daemon's answers, its version, its decoder, its disk, its network settings, its fleet, the configuration that the next start reads, the units and the gateway, and says what to do about each problem.
      The exit code is 1 if there is a problem; a note is none.
      """)

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let place = SocketPlace(context)
    var findings = SocketCheck(place).findings
    // Without a connection there is no daemon to ask.
    var hasAnswered = false
    if !findings.contains(where: { $0.grade == .problem }) {
      let interview = Interview(context, place)
      hasAnswered = interview.answers != nil
      findings += Self.findings(of: interview, in: context)
    }
    findings += ConfigurationCheck(place, environment: context.environment).findings
    findings += UnitCheck(place, hasAnswered: hasAnswered, environment: context.environment).findings
    for finding in findings { try context.print(context.asJSON ? finding.json : finding.lines(context.palette)) }
    return findings.contains { $0.grade == .problem } ? .failed : .done
  }

  private static func findings(of interview: Interview, in context: Context) -> [Finding] {
    guard let answers = interview.answers else { return interview.findings }
    return interview.findings + DaemonCheck(answers).findings
      + NetworkCheck(answers, environment: context.environment).findings + FleetCheck(answers).findings
  }
}

/// The outcome of one check of `imgctl doctor`.
struct Finding: Equatable {
  /// How good or bad it is.
  enum Grade: String {
    case ok
    /// Worth knowing, and perhaps intended.
    case note
    case problem
  }

  let grade: Grade
  let subject: String
  /// One line, or several.
  let text: String
  /// The thing to do about it, for all but good news.
  let remedy: String?

  private init(_ grade: Grade, _ subject: String, _ text: String, _ remedy: String?) {
    self.grade = grade
    self.subject = subject
    self.text = text.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }.joined(
      separator: "\n")
    self.remedy = remedy.map { printable($0) }
  }

  static func ok(_ subject: String, _ text: String) -> Finding { Finding(.ok, subject, text, nil) }

  static func note(_ subject: String, _ text: String, remedy: String? = nil) -> Finding {
    Finding(.note, subject, text, remedy)
  }

  static func problem(_ subject: String, _ text: String, remedy: String) -> Finding {
    Finding(.problem, subject, text, remedy)
  }

  /// The finding as a line of JSON.
  var json: String {
    var line = JSONWriter()
    line.beginObject()
    line.field("check", subject)
    line.field("grade", grade.rawValue)
    line.field("text", text)
    if let remedy { line.field("remedy", remedy) }
    line.endObject()
    return String(decoding: line.bytes, as: UTF8.self)
  }

  /// The finding as people read it, with its remedy on a line of its own.
  func lines(_ palette: Palette) -> String {
    let margin = String(repeating: " ", count: 23)
    let first = palette(grade.rawValue.padded(to: 8), style) + " " + subject.padded(to: 13) + " "
    return first + text.split(separator: "\n").joined(separator: "\n" + margin)
      + (remedy.map { "\n" + margin + "→ " + $0 } ?? "")
  }

  private var style: Style {
    switch grade {
    case .ok: .good
    case .note: .doubtful
    case .problem: .bad
    }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

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
