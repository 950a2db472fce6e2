import ImgdTestSupport
import ImgdWire
import Testing

struct RequestLimitTests {
  static let largest: [(field: String, isAccepted: Bool)] = [
    (#""identifier":"\#(text(256))""#, true), (#""identifier":"\#(text(257))""#, false),
    (#""slot":"\#(text(128))""#, true), (#""slot":"\#(text(129))""#, false),
    (#""tags":["\#(text(64))"]"#, true), (#""tags":["\#(text(65))"]"#, false),
    (#""tags":[\#(list(16))]"#, true), (#""tags":[\#(list(17))]"#, false),
    (#""ttl":315360000"#, true), (#""ttl":315360001"#, false),
    (#""timeout_ms":86400000"#, true), (#""timeout_ms":86400001"#, false),
    (#""headers":{\#(headers(64))}"#, true), (#""headers":{\#(headers(65))}"#, false),
    (#""headers":{"X-A":"a\r\nX-B: b"}"#, false),
    (#""max_bytes":9223372036854775807"#, true), (#""max_bytes":9223372036854775808"#, false),
    (#""resize":null"#, false), (#""priority":"HIGH""#, false),
  ]

  @Test(arguments: largest)
  func `the largest accepted number is accepted and a larger one is refused`(
    field: String, isAccepted: Bool
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let line = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.base)/a",\#(field)}"#)
    #expect(line["ok"] == .bool(isAccepted), "\(line.text)")
    if !isAccepted { #expect(line["error"]?["code"] == .string("bad_request")) }
  }

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  private static func list(_ count: Int) -> String {
    (0..<count).map { "\"\($0)\"" }.joined(separator: ",")
  }

  private static func headers(_ count: Int) -> String {
    (0..<count).map { "\"x-\($0)\":\"1\"" }.joined(separator: ",")
  }
}
