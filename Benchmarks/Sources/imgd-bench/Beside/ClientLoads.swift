/// Clients that have one thing done again and again.
enum ClientLoads {
  static let all = [
    LoadCase(
      name: "subscribers", about: "400 clients that hear all events, and never read", settings: ["Control.See=all"],
      peer: .none
    ) { stage, witness throws(BenchFailure) in
      let deaf = try Throng(
        connections: 400, parts: [#"{"cmd":"subscribe","events":["jobs","cache"]}"# + "\n"]
      ).gather(stage.bench, at: witness.socket)
      // What they hear of.
      let busy = try asking(cancelled(stage), stage, witness)
      return SideLoads([deaf, busy])
    },
    LoadCase(name: "purges", about: "purges of what is not there, without end", peer: .none) {
      stage, witness throws(BenchFailure) in
      try asking((0..<1_000).map { #"{"cmd":"purge","url":"http://none/\#(1_000 + $0)"}"# }, stage, witness)
    },
    LoadCase(
      name: "host-purges", about: "purges of a host beside 100,000 pictures in memory, without end",
      settings: ["Control.Purge=all"], peer: .none, entries: 100_000
    ) { stage, witness throws(BenchFailure) in
      try asking((0..<1_000).map { #"{"cmd":"purge","host":"none\#(1_000 + $0)"}"# }, stage, witness)
    },
    LoadCase(
      name: "entries", about: "pages of 100,000 entries for 50 clients, without end", settings: ["Control.See=all"],
      peer: .none, entries: 100_000
    ) { stage, witness throws(BenchFailure) in
      try asking([#"{"cmd":"entries","limit":1000}"#], stage, witness, connections: 50)
    },
    LoadCase(
      name: "no-entries", about: "pages that nothing is on, for 50 clients, without end", settings: ["Control.See=all"],
      peer: .none, entries: 100_000
    ) { stage, witness throws(BenchFailure) in
      try asking([#"{"cmd":"entries","prefix":"http://none/"}"#], stage, witness, connections: 50)
    },
    LoadCase(name: "cancels", about: "fetches that are cancelled at once, without end", peer: .none) {
      stage, witness throws(BenchFailure) in try asking(cancelled(stage), stage, witness)
    },
    LoadCase(
      name: "stats", about: "stats ten times a second beside 10,000 connections",
      settings: ["Control.MaxClients=20480"], peer: .none
    ) { stage, witness throws(BenchFailure) in
      let idle = try Throng(connections: stage.bench.scaled(10_000, quick: 1_000)).gather(
        stage.bench, at: witness.socket)
      let asked = try Throng(
        user: 0, parts: [#"{"cmd":"stats"}"# + "\n"], interval: 0.1, repeats: true, reads: true
      ).gather(stage.bench, at: witness.socket)
      return SideLoads([idle, asked])
    },
  ]

  private static func cancelled(_ stage: LoadStage) -> [String] {
    (0..<1_000).flatMap {
      [Imgd.fetch(stage.origin.url($0), deliver: "none"), #"{"cmd":"cancel","all":true}"#]
    }
  }

  private static func asking(
    _ lines: [String], _ stage: LoadStage, _ witness: Witness, connections: Int = 1
  ) throws(BenchFailure) -> any SideLoad {
    try Throng(
      connections: connections, parts: [lines.joined(separator: "\n") + "\n"], repeats: true, reads: true
    ).gather(stage.bench, at: witness.socket)
  }
}

/// Several at the same time.
final class SideLoads: SideLoad {
  private let all: [any SideLoad]

  init(_ all: [any SideLoad]) { self.all = all }

  func end() throws(BenchFailure) -> String {
    var texts: [String] = []
    for one in all.reversed() { texts.append(try one.end()) }
    return texts.joined(separator: "; ")
  }
}
