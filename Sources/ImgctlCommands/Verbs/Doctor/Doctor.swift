import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl doctor`: looks for reasons why imgd does not work, or not as well as it could.
struct Doctor: Verb {
  static let description = VerbDescription(
    "doctor", "find out why imgd does not work", options: [.json],
    details: """
      Checks the socket and who may use it, the daemon's answers, its version, its decoder, its disk, its network settings, its fleet, the origins, the configuration that the next start reads, the units and the gateway, and says what to do about each problem.
      The exit code is 1 if there is a problem; a note is none.
      """)

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let place = SocketPlace(context)
    var findings = SocketCheck(place: place).findings
    // Without a connection there is no daemon to ask.
    var hasAnswered = false
    if !findings.contains(where: { $0.grade == .problem }) {
      let interview = Interview(context, place)
      findings += interview.findings
      if let answers = interview.answers {
        hasAnswered = true
        findings += DaemonCheck(answers).findings
        findings += NetworkCheck(answers, environment: context.environment).findings + FleetCheck(answers).findings
        findings += OriginCheck(answers).findings + ClockCheck().findings
        findings += ConfigurationCheck.refusal(in: answers.config)
      }
    }
    findings += ConfigurationCheck(place: place, environment: context.environment).findings
    findings += UnitCheck(place: place, environment: context.environment, hasAnswered: hasAnswered).findings
    for finding in findings { try context.print(context.asJSON ? finding.json : finding.lines(context.palette)) }
    return findings.contains { $0.grade == .problem } ? .failed : .done
  }
}

/// The outcome of one check of `imgctl doctor`.
struct Finding: Equatable {
  enum Grade: String {
    case ok
    /// Worth knowing, and perhaps intended.
    case note
    case problem
  }

  let grade: Grade
  let subject: String
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

  var json: String {
    var fields = [("check", subject), ("grade", grade.rawValue), ("text", text)]
    if let remedy { fields.append(("remedy", remedy)) }
    return JSONValue.object(fields.map { JSONValue.Member($0, .string($1)) }).encoded()
  }

  /// The finding as people read it, with its remedy on a line of its own.
  func lines(_ palette: Palette) -> String {
    let margin = String(repeating: " ", count: 23)
    return palette(TextWidth.padded(grade.rawValue, to: 8), style) + " " + TextWidth.padded(subject, to: 13) + " "
      + text.split(separator: "\n").joined(separator: "\n" + margin)
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

/// The daemon's answers to the questions of `imgctl doctor`.
struct Interview {
  /// What a working daemon says about itself.
  struct Answers {
    let hello: Reply
    let stats: Reply
    let config: Reply
    var origins: [Reply] = []
    /// The pages of the answer to `fleet`.
    var hosts: [Reply] = []
  }

  let findings: [Finding]
  let answers: Answers?

  init(_ context: Context, _ place: SocketPlace) {
    do throws(Failure) {
      let connection = try context.connect()
      let start = Instant.current
      _ = try context.ask(.ping, over: connection)
      let microseconds = (Instant.current - start).nanoseconds / 1000
      var answers = Answers(
        hello: try context.ask(.hello, over: connection).reply, stats: try context.ask(.stats, over: connection).reply,
        config: try context.ask(.config, over: connection).reply, origins: try context.origins(over: connection))
      if answers.stats.object("fleet") != nil {
        // A daemon that is too old for the question can be judged all the same.
        answers.hosts = (try? context.pages(of: { .fleet($0) }, over: connection))?.map { $0.reply } ?? []
      }
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
    if failure.sentence.hasSuffix("(too_many_requests)") {
      return "end what holds the connections, or raise Control.MaxClients and LimitNOFILE= of imgd.service"
    }
    if failure.sentence.hasSuffix("(forbidden)") {
      return "an administrator lets users in: Control.Allow in imgd.conf, and then: imgctl reload"
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
