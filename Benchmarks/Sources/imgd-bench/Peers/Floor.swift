/// A minimal server in C, whose cost is a lower bound for any server: a hidden verb of this program.
struct Floor {
  let child: Child
  let socket: String

  init(_ bench: Bench, replyBytes: Int, scheduling: [String] = []) throws(BenchFailure) {
    socket = bench.path("floor")
    child = try bench.serve(
      scheduling + [Options.own, "floor", socket, "\(replyBytes)"],
      "floor", place: .server)
    try child.awaitReady("the floor") { [socket] in isListening(socket) }
  }

  func contender(request: [UInt8]) -> Contender {
    Contender(name: "floor", socket: socket, request: request, framing: .lines)
  }
}
