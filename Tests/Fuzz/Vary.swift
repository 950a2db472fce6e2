@testable import ImgdCache

extension FuzzTarget {
  /// Which requests an answer with `Vary` serves. The input is one request's fields, a field a line, and the names that
  /// the answer depends on.
  static let vary = FuzzTarget("vary", of: ["ImgdCache/HTTP/VaryOutcome.swift"], longest: 256) { bytes in
    var choices = Choices(bytes)
    let listed = choices.byte()
    let varying = names.indices.filter { listed >> ($0 % 8) & 1 == 1 }.map { names[$0] }
    let style = choices.byte()
    let sent: HeaderList = choices.lines().map { line in
      (names[Int(line.utf8.first ?? 0) % names.count], String(line.unicodeScalars.dropFirst()))
    }
    switch bytes.count % 3 {
    case 0: checkOutcome(varying, sent)
    case 1: checkSpelling(varying, sent, style)
    default: checkOthers(varying, sent, style)
    }
  }

  private static let names = [
    "accept", "accept-language", "accept-encoding", "x-device", "accept-charset", "dpr", "user-agent", "cache-control",
    "sec-ch-width", "referer",
  ]

  private static func checkOutcome(_ varying: [String], _ sent: HeaderList) {
    let fields = SentFields(sent)
    let outcome = VaryOutcome(varying: varying, fields: fields, owner: nil)
    expect(outcome.matches(sent: sent), "an answer serves the request that it is the answer to")
    expect(varying.isEmpty || outcome.fits(fields), "also where it has a place among others")
    expect(outcome == VaryOutcome(varying: varying, sent: sent), "both ways lead to the same outcome")
    expect(outcome == VaryOutcome(varying: varying, sent: outcome.pairs), "what is kept of it says all of it")
    for name in names {
      let lines = sent.filter { $0.name == name }.map(\.value)
      guard !lines.isEmpty else { continue }
      let one = normalisedFieldValue(lines, of: name)
      expect(FuzzKit.same(normalisedFieldValue([one], of: name), one), "the one form of a value is its own")
    }
  }

  /// Blanks around lines, the case of names and the division of a list into lines mean nothing.
  private static func checkSpelling(_ varying: [String], _ sent: HeaderList, _ style: UInt8) {
    let outcome = VaryOutcome(varying: varying.map { $0.uppercased() }.reversed(), sent: sent)
    let padded: HeaderList = sent.map { ($0.name, style & 1 == 0 ? " \t\($0.value) " : $0.value) }
    expect(outcome.matches(sent: padded) || hasOpenQuote(sent), "blanks around a value mean nothing")
    let sorted = padded.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
    expect(outcome.matches(sent: sorted.map(\.element)) || hasOpenQuote(sent), "nor does the order of names")
  }

  private static func hasOpenQuote(_ sent: HeaderList) -> Bool { sent.contains { $0.value.utf8.contains(0x22) } }

  /// Another value of a field that is listed is another request; one of a field that no origin looks at is not.
  private static func checkOthers(_ varying: [String], _ sent: HeaderList, _ style: UInt8) {
    let fields = SentFields(sent)
    let outcome = VaryOutcome(varying: varying, fields: fields, owner: nil)
    let name = names[Int(style >> 1) % names.count]
    let other = sent.filter { $0.name != name } + [(name, "zz-\(style)/1")]
    let (own, others) = (fields.value(of: name), SentFields(other).value(of: name))
    guard own != others, !varying.isEmpty else { return }
    let isListed = varying.contains(name)
    expect(outcome.matches(sent: other) == !isListed, "what is listed decides")
    let tells = ["x-device", "user-agent", "referer"].contains(name)
    expect(outcome.fits(SentFields(other)) == (!isListed && !tells), "and what no origin has named tells apart")
  }
}
