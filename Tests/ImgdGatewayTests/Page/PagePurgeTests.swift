import ImgdProgram
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

struct PagePurgeTests {
  private func purge(
    _ stage: PageStage, _ fields: [(name: String, value: String)],
    _ query: String = "url=http%3A%2F%2Fa%2Fb"
  ) -> StagedExchange {
    let exchange = StagedExchange("/purge?" + query, .post, [("Host", "localhost")] + fields)
    stage.take(exchange)
    return exchange
  }

  @Test func `the token of the file purges one picture`() throws {
    let stage = try PageStage { _ in .init(#""removed":true"#) }
    let exchange = purge(stage, [("Authorization", "bearer " + PageStage.token)])
    #expect(exchange.status == 200 && exchange.json == ["removed": true])
    #expect(stage.daemon.commands == ["purge"])
    #expect(stage.daemon.requests.first?["url"] == "http://a/b")
  }

  private static let token = [(name: "Authorization", value: "Bearer " + PageStage.token)]

  @Test(
    arguments: [
      ("tag=page+3", ["tag": "page 3"]), ("prefix=https://h/a%3Fb", ["prefix": "https://h/a?b"]),
      ("host=h", ["host": "h"]), ("url=http://h/a&soft=true", ["url": "http://h/a", "soft": true]),
      ("soft=true&tag=t", ["tag": "t", "soft": true]), ("tag=t&soft=false", ["tag": "t"]),
    ] as [(String, [String: JSONValue])])
  func `one filter says what goes`(query: String, fields: [String: JSONValue]) throws {
    let stage = try PageStage { _ in .init(#""removed":false,"memory":{"entries":7}"#) }
    let exchange = purge(stage, Self.token, query)
    #expect(exchange.status == 200 && exchange.json == ["removed": false])
    let sent = stage.daemon.requests.first?.object?.filter { !["cmd", "id"].contains($0.name) }
    #expect(sent?.map(\.name).sorted() == fields.keys.sorted())
    for (name, value) in fields { #expect(stage.daemon.requests.first?[name] == value) }
  }

  @Test(arguments: [
    "", "soft=true", "url=http://h/a&tag=t", "tag=t&tag=u", "tag=", "tag", "tag=%", "tag=%FF",
    "tag=t&soft=yes", "tag=t&soft", "tag=t&tier=memory", "tag=t&", "older_than=0",
    "tag=" + String(repeating: "t", count: 8_193),
  ])
  func `anything but one filter purges nothing`(query: String) throws {
    let stage = try PageStage()
    let exchange = purge(stage, Self.token, query)
    #expect(exchange.status == 400 && stage.daemon.requests.isEmpty)
  }

  @Test(arguments: [
    [], ["Bearer"], ["Bearer "], ["Basic " + PageStage.token], ["Bearer  " + PageStage.token],
    ["Bearer " + PageStage.token + "x"], ["Bearer " + PageStage.token.dropLast() + "x"],
    ["Bearer " + PageStage.token, "Bearer " + PageStage.token],
  ])
  func `anything else purges nothing`(values: [String]) throws {
    let stage = try PageStage()
    let exchange = purge(stage, values.map { ("Authorization", $0) })
    #expect(exchange.status == 403 && stage.daemon.requests.isEmpty)
  }

  @Test func `without a file nothing is purged`() throws {
    let stage = try PageStage(hasToken: false)
    let exchange = purge(stage, [("Authorization", "Bearer ")])
    #expect(exchange.status == 403 && exchange.text.contains("TokenFile="))
  }

  @Test func `another site cannot purge, even with the token`() throws {
    let stage = try PageStage()
    let exchange = purge(
      stage, [("Authorization", "Bearer " + PageStage.token), ("Sec-Fetch-Site", "cross-site")])
    #expect(exchange.status == 403 && stage.daemon.requests.isEmpty)
  }

  @Test(arguments: [
    "", "short", "two words of enough letters", "letters\nof two lines, long enough",
  ])
  func `a file without one long word is refused`(contents: String) {
    #expect(throws: SecretFileProblem.self) { try PurgeToken(Array(contents.utf8)) }
  }

  @Test func `a line may end as editors end it`() throws {
    let token = try PurgeToken(Array("a-token-of-many-letters \r\n\n".utf8))
    #expect(token.isIn(["Bearer a-token-of-many-letters"]))
  }
}
