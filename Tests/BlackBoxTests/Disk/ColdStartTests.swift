import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@Suite("Many clients of a cold disk tier") struct ColdStartTests {
  private static let clients = 1_000
  private static let urls = 200

  @Test(arguments: [false, true])
  func `all get the right bytes, from one request for each picture at most`(
    isStoredBefore: Bool
  ) throws {
    let stage = try DiskStage("Downloads.MaxActive=16", "Downloads.MaxPerHost=16")
    let pictures = (0..<Self.urls).map { png(700 + $0, seed: UInt64($0)) }
    for number in pictures.indices { stage.origin.plan("/\(number)", .picture(pictures[number])) }
    if isStoredBefore {
      for number in pictures.indices { _ = try stage.path(of: "/\(number)") }
    }
    try stage.crash()
    let clients = try (0..<Self.clients).map { _ in try stage.connect() }
    for (index, client) in clients.enumerated() {
      let form = index.isMultiple(of: 2) ? "path" : "inline"
      let url = stage.origin.url("/\(index % Self.urls)")
      try client.send(#"{"cmd":"fetch","url":"\#(url)","deliver":"\#(form)"}"#)
    }
    var wrong = 0
    for (index, client) in clients.enumerated() {
      let line = try client.receive()
      let bytes =
        line["path"]?.string.flatMap(readBytes) ?? Base64.decode(line["data"]?.string ?? "")
      if bytes != pictures[index % Self.urls] { wrong += 1 }
    }
    #expect(wrong == 0)
    for number in pictures.indices {
      #expect(stage.origin.count("/\(number)") == 1, "/\(number)")
    }
    #expect(try becomes { try stage.agrees() })
    #expect(try stage.count("entries") == Self.urls)
  }
}
