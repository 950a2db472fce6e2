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
