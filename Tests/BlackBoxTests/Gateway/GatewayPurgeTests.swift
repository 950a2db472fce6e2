import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Purges, and the pictures that the gateway holds for a moment.
struct GatewayPurgeTests {
  @Test func `a purge is in force at the gateway when it is answered`() throws {
    let stage = try GatewayStage()
    for round in 1...20 {
      let picture = TestPicture.png(bytes: 500 + round)
      stage.origin.plan("/a", .picture(picture, headers: [("Cache-Control", "max-age=600")]))
      for _ in 0..<3 { #expect(try stage.gateway.fetch(stage.url("/a")).body == picture) }
      try stage.stage.play(
        #"""
        > {"cmd":"purge","url":"ORIGIN/a"}
        < {"ok":true,"removed":true}
        """#)
    }
    #expect(stage.origin.count("/a") == 20)
  }

  @Test func `a soft purge is in force at the gateway when it is answered`() throws {
    let stage = try GatewayStage()
    let picture = TestPicture.png(bytes: 500)
    stage.origin.plan("/a", .picture(picture, headers: [("Cache-Control", "max-age=600")]))
    for round in 1...20 {
      for _ in 0..<3 { #expect(try stage.gateway.fetch(stage.url("/a")).body == picture) }
      #expect(stage.origin.count("/a") == round)
      try stage.stage.play(
        #"""
        > {"cmd":"purge","url":"ORIGIN/a","soft":true}
        < {"ok":true,"removed":false}
        """#)
    }
  }

  @Test func `a purge over HTTP takes the token`() throws {
    let directory = TemporaryDirectory()
    let file = directory.path + "/token"
    try write("correct-horse-battery\n", to: file)
    chmod(file, 0o600)
    let stage = try GatewayStage(["Allow=127.0.0.1", "TokenFile=\(file)"])
    stage.origin.plan("/a", .picture(TestPicture.png(bytes: 500)))
    #expect(try stage.gateway.fetch(stage.url("/a")).status == 200)
    let target = "/purge?url=" + stage.url("/a")
    for fields in [[], ["Authorization: Bearer wrong"]] {
      #expect([401, 403].contains(try stage.gateway.get(target, fields, method: "POST").status))
    }
    let token = ["Authorization: Bearer correct-horse-battery"]
    #expect(try stage.gateway.get(target, token).status == 405)
    #expect(try stage.gateway.get(target, token, method: "POST").status == 200)
    #expect(try stage.gateway.fetch(stage.url("/a")).status == 200)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test(arguments: ["tag=news", "prefix=http://127.0.0.1:", "host=127.0.0.1", "host=127.0.0.1&soft=true"])
  func `a purge over HTTP is in force for held pictures when it is answered`(filter: String) throws {
    let directory = TemporaryDirectory()
    let file = directory.path + "/token"
    try write("correct-horse-battery\n", to: file)
    chmod(file, 0o600)
    let stage = try GatewayStage(
      ["Allow=127.0.0.1", "TokenFile=\(file)", "Workers=3"], daemon: "[Origin 127.0.0.1]",
      "TagFields=Surrogate-Key")
    let token = ["Authorization: Bearer correct-horse-battery"]
    for round in 1...10 {
      let picture = TestPicture.png(bytes: 500 + round)
      let headers = [("Cache-Control", "max-age=600"), ("Surrogate-Key", "news")]
      stage.origin.plan("/a", .picture(picture, headers: headers))
      for _ in 0..<4 { #expect(try stage.gateway.fetch(stage.url("/a")).body == picture) }
      let answer = try stage.gateway.get("/purge?" + filter, token, method: "POST")
      let removed = !filter.hasSuffix("soft=true")
      #expect(answer.status == 200 && answer.json == ["removed": .bool(removed)], "\(answer.text)")
    }
    #expect(stage.origin.count("/a") == 10)
  }

  @Test func `without a token nothing is purged`() throws {
    let stage = try GatewayStage()
    let answer = try stage.gateway.get(
      "/purge?url=http://127.0.0.1/", ["Authorization: Bearer "], method: "POST")
    #expect(answer.status == 403 && answer.code == "not_allowed")
  }
}
