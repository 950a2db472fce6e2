import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl fleet`: the hosts that share a server with this one.
struct ListHosts: Verb {
  static let description = VerbDescription(
    "fleet", "show the hosts of the fleet", options: [.json],
    details: """
      A line for each host that has written about itself within an hour, with this one first. POSITION is the last purge that is in force there, LAG how many are newer, PENDING its own purges that the server has not got. HEARD is how long ago it has written, which is every ten seconds. REMARKS say where it differs from this host.
      """)

  private static let titles = ["HOST", "VERSION", "POSITION", "LAG", "PENDING", "HEARD", "REMARKS"]

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let answers = try context.pages(of: { .fleet($0) }, over: context.connect())
    if context.asJSON {
      for answer in answers { try context.print(answer.text) }
      return .done
    }
    guard answers.first?.reply.text("state") != "off" else {
      if !context.manner.isQuiet { context.console.remark("this machine is in no fleet: Fleet.Server is not set") }
      return .done
    }
    let hosts = FleetHosts(answers.map { $0.reply })
    try context.print(
      Self.titles, hosts.all.map { Self.row($0, in: hosts) }, [.left, .left, .right, .right, .right, .right, .left])
    if let problem = hosts.problem, !context.manner.isQuiet { context.console.remark(printable(problem)) }
    return .done
  }

  private static func row(_ host: FleetHost, in hosts: FleetHosts) -> [String] {
    [
      printable(host.name), printable(host.version), printable(host.reply.display("position")),
      printable(host.reply.display("lag")), printable(host.reply.display("pending")),
      host.isOwn ? "now" : Quantity.time(milliseconds: host.age),
      printable(hosts.remarks(about: host).joined(separator: "; ")),
    ]
  }
}

/// The hosts of a fleet as the daemon tells them.
struct FleetHosts {
  /// This host, and then the others by their names.
  let all: [FleetHost]
  /// Why others are missing, or this one is not in the list.
  let problem: String?

  /// From the pages of an answer to `fleet`.
  init(_ pages: [Reply]) {
    problem = pages.compactMap { $0.text("problem") }.first
    all = pages.flatMap { $0.objects("hosts") ?? [] }.map(FleetHost.init)
      .enumerated().sorted { left, right in
        let (one, other) = (left.element, right.element)
        if one.isOwn != other.isOwn { return one.isOwn }
        return one.name == other.name ? left.offset < right.offset : one.name < other.name
      }.map { $0.element }
  }

  var own: FleetHost? { all.first { $0.isOwn } }
  var others: [FleetHost] { all.filter { !$0.isOwn } }

  /// How a host differs from this one, and what else is worth a look.
  func remarks(about host: FleetHost) -> [String] {
    if host.isOwn { return ["this host"] }
    if host.isAway { return ["away"] }
    return differences(of: host) + (host.lags ? ["carries out \(host.reply.display("waiting")) purges"] : [])
  }

  /// In what a host is not like this one: it may refuse what this one stores, or the other way round.
  func differences(of host: FleetHost) -> [String] {
    guard let own else { return [] }
    let settings = own.settings.compactMap { setting in
      host.settings.first { $0.name == setting.name && $0.value != setting.value }
    }
    return (host.version == own.version ? [] : ["another version"])
      + (host.layout == own.layout ? [] : ["layout \(host.layout) of values"])
      + settings.map { "\($0.name)=\($0.value)" }
  }
}

/// One of them.
struct FleetHost {
  /// So many purges that are being carried out are more than those of a moment.
  private static let muchWaits = 100

  let reply: Reply

  var name: String { reply.text("host") ?? "?" }
  var isOwn: Bool { reply.flag("self") == true }
  var version: String { reply.text("version") ?? "?" }
  var layout: Int { reply.number("layout") ?? 0 }
  /// How long ago it was last heard of, in milliseconds.
  var age: Int { reply.number("age_ms") ?? 0 }
  var isAway: Bool { reply.flag("away") == true }
  var lags: Bool { (reply.number("waiting") ?? 0) >= Self.muchWaits }

  /// The settings by which hosts may refuse each other's pictures.
  var settings: [(name: String, value: String)] {
    guard let limits = reply.object("limits") else { return [] }
    return limits.fields.map { ($0, limits.display($0)) }
  }
}
