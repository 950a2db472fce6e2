import ImgdProgram
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

struct PagePurgeTests {
  private func purge(
    _ stage: PageStage, _ fields: [(name: String, value: String)]
  ) -> StagedExchange {
    let exchange = StagedExchange(
      "/purge?url=http%3A%2F%2Fa%2Fb", .post, [("Host", "localhost")] + fields)
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
