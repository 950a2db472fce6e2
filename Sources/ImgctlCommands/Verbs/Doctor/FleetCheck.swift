import ImgdConnection

/// The server that this host shares with others, and whether the purges of all hosts arrive.
struct FleetCheck {
  /// `Fleet.Server` as the configuration has it; empty if this machine is in no fleet.
  private let configured: String
  private let fleet: Reply?

  init(_ answers: Interview.Answers) {
    let config = answers.config.object("config") ?? answers.config
    configured = config.object("Fleet")?.text("Server") ?? ""
    fleet = answers.stats.object("fleet")
  }

  var findings: [Finding] {
    guard let fleet, let state = fleet.text("state") else { return configured.isEmpty ? [] : [notStarted] }
    return [server(state, of: fleet)] + purges(fleet.object("purges"))
  }

  private var notStarted: Finding {
    .note(
      "fleet", "Fleet.Server=\(configured) is set, and not used by the imgd that runs",
      remedy: "restart imgd: this key has no effect before")
  }

  private func server(_ state: String, of fleet: Reply) -> Finding {
    let server = fleet.display("server")
    // The reason names the server.
    let text = fleet.text("reason")
    switch state {
    case "ok":
      // The server works, but has a setting that will cause trouble one day.
      if let text { return .note("fleet", text, remedy: "see fleet.md for the server's settings") }
      let counts = "\(fleet.display("hits")) hits, \(fleet.display("stores")) stored"
      return .ok("fleet", "\(server): \(counts)")
    case "connecting": return .note("fleet", text ?? "\(server): connecting", remedy: "ask again in a moment")
    case "read-only":
      return .problem(
        "fleet", text ?? "\(server) can be read, and takes nothing",
        remedy: "Fleet.Server in imgd.conf has to be the primary, with room on its disk")
    case "refused":
      return .problem(
        "fleet", text ?? "\(server) must not be used as it is",
        remedy: "correct it there: imgd looks again by itself; fleet.md has the settings")
    default:
      return .problem(
        "fleet", text ?? "\(server) does not answer",
        remedy: "see whether it runs and can be reached from here, as the user imgd")
    }
  }

  private func purges(_ purges: Reply?) -> [Finding] {
    var findings: [Finding] = []
    if let pending = purges?.number("pending"), pending > 0 {
      findings.append(.note("fleet", "purges of this host that wait until the server takes them: \(pending)"))
    }
    if let gaps = purges?.number("gaps"), gaps > 0 {
      findings.append(
        .note(
          "fleet",
          "since the start purges of others may have been missed " + (gaps == 1 ? "once" : "\(gaps) times")
            + ": all pictures were marked as stale",
          remedy: "see why in the log of imgd (journalctl -u imgd IMGD_EVENT=fleet); a server that is "
            + "emptied is a usual cause"))
    }
    return findings
  }
}
