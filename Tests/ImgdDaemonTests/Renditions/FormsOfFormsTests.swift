// Forms that are made of other forms, since the bytes of their picture have gone.

import ImgdDecode
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

extension FormsAloneTests {
  private static let large = #""resize":{"width":8,"height":8}"#
  private static let small = #""resize":{"width":4,"height":4}"#

  /// Whether the decoder's last order was for the bytes of a form.
  private func wasOfForm(_ stage: CoreStage) -> Bool {
    stage.decoding.orders.last?.picture.count == 500
  }

  @Test func `a smaller form is made of a larger one, and is the picture's own`() throws {
    let stage = try stage(fields: #","tags":["t"]"#, forms: [Self.large])
    let line = try ask(Self.small, of: stage)
    #expect(line["source"]?.string == "disk" && line["width"]?.integer == 4)
    #expect(line["fresh_for"]?.integer ?? 0 > 3_000)
    #expect(wasOfForm(stage) && stage.decoding.orders.count == 2)
    try stage.restart()
    let again = try ask(Self.small, of: stage)
    #expect(again["source"]?.string == "disk" && again["width"]?.integer == 4)
    #expect(stage.origin.count("/a") == 1 && stage.decoding.orders.count == 2)
    stage.pass(.seconds(3_601))
    #expect(try ask(Self.small, of: stage)["source"]?.string == "revalidated")
    let purge = try stage.client.ask(#"{"cmd":"purge","tag":"t"}"#)
    #expect(purge["disk"]?["entries"]?.integer == 3)
    #expect(try ask(Self.small, of: stage)["source"]?.string == "network")
    #expect(!wasOfForm(stage))
  }

  @Test func `a stale picture is confirmed before a form is made of its form`() throws {
    let stage = try stage(forms: [Self.large])
    stage.pass(.seconds(3_601))
    #expect(try ask(Self.small, of: stage)["source"]?.string == "revalidated")
    #expect(conditions(stage) == [false, true] && wasOfForm(stage))
  }

  @Test(arguments: ["only-if-cached", "peek", "force-cache"])
  func `who does not want the origin to be asked gets a form of a form`(mode: String) throws {
    let stage = try stage(forms: [Self.large])
    stage.pass(.seconds(4_000))
    let line = try ask(#"\#(Self.small),"cache":"\#(mode)""#, of: stage)
    #expect(line["ok"] == true && line["stale"] == true && line["width"]?.integer == 4)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test(arguments: [0, 3_601])
  func `where a form cannot be made of another the picture comes anew`(seconds: Int) throws {
    let stage = try stage(forms: [Self.large])
    stage.pass(.seconds(seconds))
    stage.decoding.onBegin = { _, order in
      order.picture.count == 500 ? DecodeFailure(.damaged, "planned") : nil
    }
    let line = try ask(Self.small, of: stage)
    #expect(line["source"]?.string == "network" && line["width"]?.integer == 4)
    #expect(conditions(stage).last == false && !wasOfForm(stage))
    // It is the form that is bad, and not the picture.
    #expect(try ask(Self.other, of: stage)["ok"] == true)
    let refused = try ask(#"\#(Self.small),"format":"webp","cache":"only-if-cached""#, of: stage)
    #expect(refused["ok"] == true)
  }

  @Test func `an origin that fails after that is told of, once`() throws {
    let stage = try stage(forms: [Self.large], "HTTP.StaleIfError=1h")
    stage.pass(.seconds(3_601))
    stage.origin.plan("/a", .status(503))
    let line = try ask(Self.small, of: stage)
    #expect(line["ok"] == true && line["stale"] == true && line["width"]?.integer == 4)
    stage.decoding.failure = DecodeFailure(.damaged, "planned")
    let other = try ask(#""resize":{"width":3,"height":3}"#, of: stage)
    #expect(other.outcome == "http_status")
  }

  @Test func `the picture's own bytes are the better source`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(20_000), headers: Self.hour))
    _ = try ask(Self.large, of: stage)
    #expect(try ask(Self.small, of: stage)["ok"] == true && !wasOfForm(stage))
  }

  @Test func `without a disk a form is made of one in memory`() throws {
    let stage = try narrow(20)
    for number in 0..<2 {
      let line = try stage.client.ask(
        #"{"cmd":"fetch","url":"\#(stage.origin.url("/\(number)"))","deliver":"inline","resize":{"width":2,"height":2}}"#
      )
      #expect(line["source"]?.string == "memory" && line["width"]?.integer == 2)
      #expect(wasOfForm(stage))
    }
    #expect(stage.origin.requests.count == 20)
  }
}
