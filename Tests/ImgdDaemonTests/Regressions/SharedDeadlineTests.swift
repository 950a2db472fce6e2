import ImgdTestSupport
import ImgdWire
import Testing

struct SharedDeadlineTests {
  @Test func `a long time limit does not extend a request without one`() throws {
    let stage = try CoreStage("Downloads.Timeout=3s")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    let patient = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/a","timeout_ms":600000}"#, on: patient)
    stage.pass(.seconds(3))
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"timeout"}}"#)
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
