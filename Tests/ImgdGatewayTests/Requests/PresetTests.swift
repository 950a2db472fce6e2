import ImgdWire
import Testing

@testable import ImgdGateway

struct PresetTests {
  @Test(arguments: [
    "thumb", "thumb:300x200", "thumb:300x", "thumb:x200", "thumb:300x200:cover",
    "thumb:300x200:cover:attention:webp:q80", "hero:300x200:cover:0.4,0.3", "part:0.0,0.0,0.5,1.0",
    "box:9x9:pad:1,2,3,4:#ff8000:png", "a-b_C9:fill", "large:auto", "q:q100",
  ])
  func `a preset is written as it was read`(word: String) throws {
    #expect(try Preset(parsing: word).text == word)
  }

  @Test func `its parts stand in any order`() throws {
    let preset = try Preset(parsing: "thumb:q80:jpg:attention:cover:300x200")
    #expect(preset.text == "thumb:300x200:cover:attention:jpeg:q80")
    #expect(preset.name == "thumb" && preset.form.width == 300 && preset.form.height == 200)
    #expect(preset.form.fit == .cover && preset.form.crop == .attention)
    #expect(preset.form.format == .jpeg && preset.form.quality == 80)
  }

  @Test(arguments: [
    ("", "no name"), (":300x200", "no name"), ("a.b:300x200", "no name"), ("é", "no name"),
    (String(repeating: "a", count: 65), "no name"), ("t:", "it takes a size"),
    ("t:x", "it takes a size"),
    ("t:0x1", "0x1"), ("t:65536x", "65536x"), ("t:99999999999999999999x", "takes a size"),
    ("t:3x2x1", "3x2x1"), ("t:-3x2", "-3x2"), ("t:q0", "q0"), ("t:q101", "q101"),
    ("t:q", "takes a size"),
    ("t:covr", #"did you mean "cover"?"#), ("t:bmp", "takes a size"), ("t:3x:4x", "two sizes"),
    ("t:3x:x4", "two sizes"), ("t:png:webp", "two words for its format"),
    ("t:fill:cover", "its fit"),
    ("t:centre:centre", "its crop"), ("t:q1:q2", "its quality"), ("t:3x:cover", "takes both"),
  ])
  func `what cannot be read is said`(word: String, part: String) {
    let problem = #expect(throws: PresetProblem.self) { try Preset(parsing: word) }
    #expect(problem?.message.contains(part) == true, "\(problem?.message ?? "")")
  }

  @Test func `the target says more than its preset`() throws {
    let presets = [try Preset(parsing: "thumb:300x200:cover:attention:webp:q80")]
    let target = "/fetch?url=https%3A%2F%2Fpictures.example%2Fcat.jpg&preset=thumb"
    let thumb = cat {
      ($0.width, $0.height, $0.fit, $0.crop) = (300, 200, .cover, .attention)
      ($0.format, $0.quality, $0.presets) = (.webp, 80, ["thumb"])
    }
    #expect(try picture(target, presets: presets) == thumb)
    var double = thumb
    (double.width, double.height) = (600, 400)
    #expect(try picture(target + "&dpr=2", presets: presets) == double)
    let other = cat {
      ($0.width, $0.height, $0.enlarge) = (10, 20, true)
      ($0.format, $0.quality, $0.presets) = (.original, 5, ["thumb"])
    }
    let values =
      "&width=10&height=20&fit=contain&format=original&quality=5&enlarge=true&crop=centre"
    #expect(try picture(target + values, presets: presets) == other)
  }

  @Test func `a preset of one side may be completed`() throws {
    let presets = [try Preset(parsing: "wide:300x")]
    let target = "/fetch?url=https%3A%2F%2Fpictures.example%2Fcat.jpg&fit=cover&preset="
    #expect(refusal(of: target + "wide", presets: presets)?.field == "fit")
    #expect(try picture(target + "wide&height=5", presets: presets)?.fit == .cover)
    #expect(
      refusal(of: target + "wdie", presets: presets)?.message.contains(#"mean "wide"?"#) == true)
  }

  @Test func `the last of two presets counts`() throws {
    let presets = [try Preset(parsing: "a:1x"), try Preset(parsing: "a:2x")]
    #expect(try picture("/pr:a/plain/https://a.example", presets: presets)?.width == 2)
  }
}
