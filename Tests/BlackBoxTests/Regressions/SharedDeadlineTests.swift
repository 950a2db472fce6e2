import ImgdTestSupport
import ImgdWire
import Testing

@Suite struct SharedDeadlineTests {
  @Test func `one with much time does not prolong the wait of one who named none`() throws {
    let stage = try Stage("Downloads.Timeout=1s", "Downloads.Retries=0")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    stage.client.patience = .seconds(5)
    let patient = try stage.connect()
    let start = ContinuousClock.now
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/a","timeout_ms":600000}"#, on: patient)
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"timeout"}}"#)
    #expect(ContinuousClock.now - start < .seconds(3))
    try stage.play(
      #"""
      > {"cmd":"list"}
      < {"ok":true,"jobs":[{"url":"ORIGIN/a","state":"running"}]}
      """#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true,"source":"network"}"#, on: patient)
    #expect(stage.origin.count("/a") == 1)
  }
}
