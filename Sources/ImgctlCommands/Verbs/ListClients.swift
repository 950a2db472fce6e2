import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl clients`: who asks for how much.
struct ListClients: Verb {
  static let description = VerbDescription(
    "clients", "show who asks for how much", options: [.json],
    details: """
      A line for each connection, those over which most has been asked for first, and one for each user. SENT are the bytes of answers, without pictures that were handed over as files and descriptors. Who is no administrator may see no others.
      """)

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    var clients: [Reply] = []
    var users: [Reply] = []
    for answer in try context.pages(of: { .clients($0) }, over: context.connect()) {
      if context.asJSON { try context.print(answer.text) }
      clients += answer.reply.objects("clients") ?? []
      users += answer.reply.objects("users") ?? []
    }
    if context.asJSON { return .done }
    let busiest = clients.sorted { $0.number("requests") ?? 0 > $1.number("requests") ?? 0 }
    try context.print(
      ["PID", "PROGRAM", "UID", "CONNECTED", "REQUESTS", "SENT", "UNDER WAY"], busiest.map(Self.row),
      [.right, .left, .right, .right, .right, .right, .right])
    try context.print("")
    try context.print(
      ["UID", "CONNECTIONS", "SO FAR", "REQUESTS", "SENT"], users.map(Self.userRow),
      [.right, .right, .right, .right, .right])
    return .done
  }

  private static func row(_ client: Reply) -> [String] {
    [
      printable(client.display("pid")), program(client.number("pid") ?? 0), printable(client.display("uid")),
      Quantity.time(seconds: client.number("age_s") ?? 0), printable(client.display("requests")),
      Quantity.shortSize(client.number("bytes_sent") ?? 0), printable(client.display("under_way")),
    ]
  }

  private static func userRow(_ user: Reply) -> [String] {
    [
      printable(user.display("uid")), printable(user.display("connected")), printable(user.display("accepted")),
      printable(user.display("requests")), Quantity.shortSize(user.number("bytes_sent") ?? 0),
    ]
  }

  /// The name of a process. The daemon itself need not see other users' processes.
  private static func program(_ pid: Int) -> String {
    let name = TextFile.content(of: "/proc/\(pid)/comm", longest: 64).flatMap { $0.split(separator: "\n").first }
    return name.map { printable(String($0)) } ?? "-"
  }
}
