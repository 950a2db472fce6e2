import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Two hundred clients that do anything at all, against an origin that fails in every way.
@Suite(.serialized) struct StressTests {
  private static let clients = 200
  private static let rounds = 30

  @Test func `every command gets its one line`() throws {
    let origin = try OriginServer()
    plan(origin)
    let daemon = try DaemonProcess(settings: [
      "Downloads.IdleTimeout=200ms", "Downloads.Retries=1", "Downloads.MaxActive=8",
      "Downloads.MaxPerHost=8", "Memory.Capacity=60K", "Memory.Preferred=30K",
    ])
    let witness = try Witness(daemon)
    _ = try witness.ask(#"{"cmd":"fetch","url":"\#(origin.url("/p0.png"))"}"#)
    let files = daemon.openFiles
    var noise = Noise(seed: 20_26)
    for _ in 0..<Self.rounds / 10 {
      let clients = try (0..<Self.clients).map { _ in try daemon.connect() }
      var expected = [Set<Int64>](repeating: [], count: clients.count)
      for number in 0..<10 {
        for index in clients.indices {
          try clients[index].send(command(Int64(number), origin, &noise))
          expected[index].insert(Int64(number))
        }
      }
      for index in clients.indices {
        if index.isMultiple(of: 2) { clients[index].halfClose() }
        if index.isMultiple(of: 17) { continue }  // these vanish with everything open
        try collect(&expected[index], from: clients[index])
        #expect(expected[index].isEmpty)
      }
    }
    #expect(daemon.isRunning)
    #expect(try witness.waits(for: "clients", "connected", toBe: 1))
    _ = try witness.ask(#"{"cmd":"cancel","all":true}"#)
    #expect(try witness.seesNothingLeft())
    #expect(try becomes { daemon.openFiles <= files + 40 }, "idle connections and pictures")
  }

  /// Reads until every command has had its line; a second one for the same command is a failure.
  private func collect(_ expected: inout Set<Int64>, from client: TestClient) throws {
    while !expected.isEmpty {
      let line = try client.receive()
      guard line["ok"] != nil else { continue }
      let id = try #require(line["id"]?.integer)
      #expect(expected.remove(id) != nil, "a second line for \(id)")
    }
  }

  private func plan(_ origin: OriginServer) {
    for number in 0..<8 {
      origin.plan("/p\(number).png", .picture(TestPicture.png(bytes: 3_000, seed: UInt64(number))))
    }
    origin.plan("/hangs", .silence)
    origin.plan("/stalls", .stalls(TestPicture.png(bytes: 3_000), after: 500))
    origin.plan("/cut", .cut(TestPicture.png(bytes: 3_000), after: 500))
    origin.plan("/reset", .reset)
    origin.plan("/html", .body(Array("<html>".utf8)))
    origin.plan("/loop", .redirect(to: "/loop"))
    origin.plan("/busy", .status(503), .status(429), .picture(TestPicture.png(bytes: 3_000)))
  }

  private static let paths =
    (0..<8).map { "/p\($0).png" } + [
      "/cut", "/reset", "/html", "/loop", "/busy", "/stalls", "/hangs",
    ]

  private func command(_ id: Int64, _ origin: OriginServer, _ noise: inout Noise) -> String {
    let url = origin.url(Self.paths.randomElement(using: &noise) ?? "/")
    let fetch = #"{"cmd":"fetch","id":\#(id),"url":"\#(url)","timeout_ms":1500"#
    switch Int.random(in: 0..<20, using: &noise) {
    case 0..<6: return fetch + "}"
    case 6: return fetch + #","deliver":"inline"}"#
    case 7: return fetch + #","deliver":"fd"}"#
    case 8: return fetch + #","cache":"reload","progress":true}"#
    case 9: return fetch + #","cache":"no-cache","events":true}"#
    case 10: return fetch + #","slot":"s","priority":"high"}"#
    case 11: return fetch + #","wait":false,"tags":["t"]}"#
    case 12: return fetch + #","store":"none","http":true}"#
    case 13: return #"{"cmd":"cancel","id":\#(id),"tag":"t"}"#
    case 14: return #"{"cmd":"cancel","id":\#(id),"slot":"s"}"#
    case 15: return #"{"cmd":"purge","id":\#(id)}"#
    case 16: return #"{"cmd":"entries","id":\#(id)}"#
    case 17: return #"{"cmd":"list","id":\#(id)}"#
    case 18: return #"{"cmd":"fetch","id":\#(id),"url":"nonsense"}"#
    default: return #"{"cmd":"cancel","id":\#(id),"all":true}"#
    }
  }
}
