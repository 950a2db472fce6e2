import ImgdSystem

/// The units of imgd, where systemd runs and the socket is that of a unit.
struct UnitCheck {
  private let place: SocketPlace
  private let environment: [String: String]

  init(_ place: SocketPlace, environment: [String: String]) {
    self.place = place
    self.environment = environment
  }

  var findings: [Finding] {
    guard place.isOwn || place.isMachines, TextFile.isThere("/run/systemd/system") else {
      return []
    }
    let arguments =
      (place.isOwn ? ["--user"] : [])
      + [
        "show", "--property=Id,LoadState,ActiveState,UnitFileState", "imgd.socket", "imgd.service",
      ]
    guard
      let answer = ProgramOutput.of("systemctl", arguments, environment: environment)
    else { return [.note("unit", "systemctl does not answer")] }
    return UnitStates(answer).findings(command: place.isOwn ? "systemctl --user" : "sudo systemctl")
  }
}

/// The states of both units, as `systemctl show` prints them.
struct UnitStates {
  private let units: [[String: String]]

  init(_ answer: String) {
    var units: [[String: String]] = [[:]]
    for line in answer.split(separator: "\n", omittingEmptySubsequences: false) {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 {
        units[units.count - 1][String(parts[0])] = String(parts[1])
      } else {
        units.append([:])
      }
    }
    self.units = units
  }

  /// The state of the socket's unit, and that of a service which has failed.
  func findings(command: String) -> [Finding] {
    let socket = unit("imgd.socket"), service = unit("imgd.service")
    guard socket["LoadState"] == "loaded" else {
      return [.note("unit", "imgd.socket is not installed: imgd does not start by itself")]
    }
    var findings: [Finding] = []
    if service["ActiveState"] == "failed" {
      findings.append(
        .problem(
          "unit", "imgd.service has failed",
          remedy: "journalctl -u imgd says why; then: \(command) restart imgd.socket imgd.service"))
    }
    let (state, file) = (socket["ActiveState"] ?? "?", socket["UnitFileState"] ?? "?")
    if state != "active" {
      findings.append(
        .problem(
          "unit", "imgd.socket is \(state)", remedy: "\(command) enable --now imgd.socket"))
    } else if file == "disabled" {
      findings.append(
        .note(
          "unit", "imgd.socket is active, and will not be after the next boot",
          remedy: "\(command) enable imgd.socket"))
    } else {
      findings.append(.ok("unit", "imgd.socket is active and \(file)"))
    }
    return findings
  }

  private func unit(_ name: String) -> [String: String] {
    units.first { $0["Id"] == name } ?? [:]
  }
}
