import ImgdTestSupport
import Testing

@testable import ImgdWire

struct HostileLineTests {
  static let seeds: [String] =
    RequestParserTests.commands.map(\.0) + RequestParserTests.refused.map(\.0)
    + FetchRequestTests.accepted.map { #"{"cmd":"fetch","id":"é","url":"u",\#($0)}"# }
    + FetchRequestTests.refused.map { #"{"id":1,"cmd":"fetch","url":"u",\#($0.0)}"# }

  @Test func `a line cut at any byte never traps and is never read as a request`() {
    for seed in Self.seeds {
      let bytes = Array(seed.utf8)
      for end in bytes.indices {
        let parsed = RequestParser.parse(bytes.span.extracting(0..<end))
        if case .request = parsed.outcome {
          // Only bytes after the object may be missing.
          let last = bytes[..<end].last { $0 > 0x20 }
          #expect(last == UInt8(ascii: "}") && refusal(seed)?.code == .badJSON)
        }
      }
    }
  }

  @Test func `a line with 20,000 random changes never traps`() {
    var dice = SeededGenerator(seed: 2026)
    let seeds = Self.seeds.map { Array($0.utf8) }
    let pieces = ["\"", "\\", "{", "}", "[", "]", ",", ":", "\\u", "\\ud83d", "1e999", "-", "\0"]
      .map { Array($0.utf8) }
    var accepted = 0
    for _ in 0..<20_000 {
      var line = seeds.randomElement(using: &dice) ?? []
      for _ in 0..<Int.random(in: 1...4, using: &dice) { mutate(&line, pieces, &dice) }
      if case .request = RequestParser.parse(line.span).outcome { accepted += 1 }
    }
    #expect(accepted > 100)
  }

  private func mutate(_ line: inout [UInt8], _ pieces: [[UInt8]], _ dice: inout SeededGenerator) {
    let place = Int.random(in: 0...line.count, using: &dice)
    switch Int.random(in: 0..<5, using: &dice) {
    case 0: line.insert(UInt8.random(in: 0...255, using: &dice), at: place)
    case 1: line.insert(contentsOf: pieces.randomElement(using: &dice) ?? [], at: place)
    case 2: line.removeSubrange(place..<min(place + 3, line.count))
    case 3: if place < line.count { line[place] ^= 1 << UInt8.random(in: 0..<8, using: &dice) }
    default: line.append(contentsOf: line[place...])
    }
  }

  @Test func `a line of random bytes never traps`() {
    var dice = SeededGenerator(seed: 7)
    let alphabet = Array("{}[]\",:\\u0123eE+-.tfn cmdurl\u{e9}".utf8)
    for _ in 0..<10_000 {
      let line = (0..<Int.random(in: 0...40, using: &dice)).map { _ in
        alphabet[Int.random(in: 0..<alphabet.count, using: &dice)]
      }
      _ = RequestParser.parse(line.span)
    }
  }

  @Test func `a hostile line of the maximum length never traps`() {
    for piece in ["[", "{\"a\":", "\"", "\\u0041", "1", "x_a,", "é", "\\ud83d\\ude00", "{\"\":[],"] {
      let filling = String(repeating: piece, count: 65_000 / piece.utf8.count)
      for line in [filling, "{\"cmd\":\"ping\",\"x_\":" + filling, "{\"cmd\":\"" + filling] {
        #expect(refusal(line) != nil)
      }
    }
    let strangers = (0..<6000).map { "\"x_\($0)\":0" }.joined(separator: ",")
    #expect(request("{\"cmd\":\"ping\",\(strangers)}") == .ping)
  }
}
