/// The units of imgd, where systemd runs and the socket is that of a unit.
struct UnitCheck {
  private let place: SocketPlace
  private let hasAnswered: Bool
  private let environment: [String: String]

  /// `hasAnswered` says whether a daemon was found at the socket.
  init(_ place: SocketPlace, hasAnswered: Bool, environment: [String: String]) {
    self.place = place
    self.hasAnswered = hasAnswered
    self.environment = environment
  }

  var findings: [Finding] {
    guard place.isOwn || place.isMachines, place.hasManager else { return [] }
    let units = ["imgd.socket", "imgd.service"]
    // The gateway is the machine's alone.
    let gatewayUnits = ["imgd-http.socket", "imgd-http.service"]
    let arguments =
      (place.isOwn ? ["--user"] : []) + ["show", "--property=Id,LoadState,ActiveState,UnitFileState,Listen"] + units
      + (place.isOwn ? [] : gatewayUnits)
    guard let answer = ProgramOutput.of("systemctl", arguments, environment: environment) else {
      return [.note("unit", "systemctl does not answer")]
    }
    let command = place.isOwn ? "systemctl --user" : "sudo systemctl"
    let states = UnitStates(answer)
    return states.findings(command: command, hasAnswered: hasAnswered, lastError: lastError) + gateway(states, command)
  }

  private func gateway(_ states: UnitStates, _ command: String) -> [Finding] {
    let finding = GatewayCheck(states).finding(command: command, lastError: lastError) { GatewayAnswer(of: $0) }
    guard let finding else { return [] }
    // Good news about the same files has already been reported.
    let configuration = ConfigurationCheck(place, of: "imgd-http", environment: environment)
    return [finding] + configuration.findings.filter { $0.grade != .ok }
  }

  /// The last error that a unit has logged, after a colon; root alone may read the journal.
  private func lastError(_ unit: String) -> String? {
    guard place.isMachines, ProcessUser.effective == 0 else { return nil }
    // Only the unit's own lines: what systemd says about it is not the reason.
    let arguments = [
      "--quiet", "--boot", "_SYSTEMD_UNIT=\(unit)", "--priority=err", "--lines=1", "--output=cat", "--no-pager",
    ]
    let text = ProgramOutput.of("journalctl", arguments, environment: environment)
    return text.flatMap { $0.split(separator: "\n").last.map { ": " + String($0) } }
  }
}

/// The states of units, as `systemctl show` prints them.
struct UnitStates {
  private let units: [[String: String]]

  init(_ answer: String) {
    var units: [[String: String]] = [[:]]
    for line in answer.split(separator: "\n", omittingEmptySubsequences: false) {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { units[units.count - 1][String(parts[0])] = String(parts[1]) } else { units.append([:]) }
    }
    self.units = units
  }

  /// The state of the socket's unit, and that of a service which has failed.
  func findings(command: String, hasAnswered: Bool = false, lastError: (_ unit: String) -> String? = { _ in nil })
    -> [Finding]
  {
    let socket = unit("imgd.socket"), service = unit("imgd.service")
    guard socket["LoadState"] == "loaded" else {
      return [.note("unit", "imgd.socket is not installed: imgd does not start by itself")]
    }
    var findings: [Finding] = []
    if service["ActiveState"] == "failed" {
      findings.append(
        .problem(
          "unit", "imgd.service has failed" + (lastError("imgd.service") ?? ""),
          remedy: "journalctl -u imgd says why; then: \(command) restart imgd.socket imgd.service"))
    }
    let (state, file) = (socket["ActiveState"] ?? "?", socket["UnitFileState"] ?? "?")
    if state != "active", hasAnswered {
      findings.append(
        .note(
          "unit", "imgd.socket is \(state): the imgd that answers was started by hand",
          remedy: "to have it started by itself, end that one, and: \(command) enable --now imgd.socket"))
    } else if state != "active" {
      findings.append(.problem("unit", "imgd.socket is \(state)", remedy: "\(command) enable --now imgd.socket"))
    } else if file == "disabled" {
      findings.append(
        .note(
          "unit", "imgd.socket is active, and will not be after the next boot", remedy: "\(command) enable imgd.socket")
      )
    } else {
      findings.append(.ok("unit", "imgd.socket is active and \(file)"))
    }
    return findings
  }

  /// The properties of a unit; empty if there is no such unit.
  func unit(_ name: String) -> [String: String] { units.first { $0["Id"] == name } ?? [:] }
}
