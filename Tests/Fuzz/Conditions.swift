@testable import ImgdCache
@testable import ImgdConnection
@testable import ImgdGateway
@testable import ImgdText
@testable import ImgdWire

/// A request of HTTP that has only fields.
private final class PlainExchange: HTTPExchange {
  let method = HTTPMethod.get
  let target = "/"
  let peer: HTTPPeer
  var onLeave: (() -> Void)?
  var onEnd: (() -> Void)?
  var notes = RequestNotes()
  let sent: [(name: String, value: String)]

  init(_ sent: [(name: String, value: String)], from peer: HTTPPeer = .unix) { (self.sent, self.peer) = (sent, peer) }

  func fields(_ name: String) -> [String] { sent.filter { $0.name == name }.map(\.value) }
  func answer(_ response: HTTPResponse) {}
}

extension FuzzTarget {
  /// Conditions and ranges over a picture, against the table of RFC 9110, 13.2.2 and 14.2, and what a client accepts. A
  /// field is a line, whose first byte chooses its name.
  static let conditions = FuzzTarget(
    "conditions", of: ["ImgdGateway/Pictures/Conditions.swift", "ImgdCache/HTTP/ClientCondition.swift"], longest: 256
  ) { bytes in
    var choices = Choices(bytes)
    let facts = SamplePicture(&choices)
    let sent = choices.lines().map { line in
      let name = names[Int(line.utf8.first ?? 0) % names.count]
      return (name: name, value: facts.expanded(String(line.unicodeScalars.dropFirst())))
    }
    let exchange = PlainExchange(sent)
    let conditions = Conditions(of: exchange, now: SamplePicture.now)
    let table = SecondTable(sent, facts)
    expect(conditions.verdict(on: facts.facts) == table.verdict, "both tables lead to the same verdict")
    expect(conditions.permitsPart(of: facts.facts) == table.permitsPart, "and to the same answer to If-Range")
    let ranges = exchange.fields("Range")
    expect(ByteRange(ranges, of: facts.count) == table.range(of: ranges), "and to the same part")
    if case .part(let part) = ByteRange(ranges, of: facts.count) {
      expect(!part.isEmpty && part.lowerBound >= 0 && part.upperBound <= facts.count, "a part lies in the picture")
    }
    checkCache(sent, facts)
    checkFormats(exchange.fields("Accept"))
  }

  private static let names = [
    "If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range", "Accept",
  ]

  /// The daemon's own judgement on If-None-Match and If-Modified-Since.
  private static func checkCache(_ sent: [(name: String, value: String)], _ facts: SamplePicture) {
    let lower: HeaderList = sent.map { ($0.name.lowercased(), $0.value) }
    guard let condition = ClientCondition(lower, now: SamplePicture.now) else { return }
    var headers: HeaderList = []
    if let tag = facts.tag { headers.append(("etag", tag)) }
    if let modified = facts.modified { headers.append(("last-modified", HTTPDate.text(modified))) }
    let response = StoredResponse(status: 200, headers: headers)
    let isKnown = condition.covers(response, receivedAt: SamplePicture.now)
    if facts.modified != nil {
      let own = sent.filter { $0.name.hasPrefix("If-None") || $0.name.hasPrefix("If-Modified") }
      let table = SecondTable(own, facts)
      expect(isKnown == (table.verdict == .isKnown), "the cache and the gateway judge alike")
    }
    expect(!condition.covers(StoredResponse(status: 404, headers: headers), receivedAt: 0), "an error has none")
  }

  private static func checkFormats(_ values: [String]) {
    let formats = AcceptedFormats(values).formats
    expect(Set(formats).count == formats.count, "each format is there once")
    for format in [OutputFormat.original, .jpeg, .png] { expect(formats.contains(format), "all show \(format)") }
    expect(AcceptedFormats(values + ["image/avif;q=0"]).formats == formats, "a weight of zero changes nothing")
  }
}

/// The picture that requests are about.
private struct SamplePicture {
  /// 2026-01-01.
  static let now: Int64 = 1_767_225_600

  let tag: String?
  let modified: Int64?
  let count: Int
  let facts: PictureFacts

  init(_ choices: inout Choices) {
    tag = choices.pick(Self.tags)
    modified = choices.pick(Self.times)
    count = choices.pick(Self.counts)
    facts = Self.all[[tag ?? "", modified.map(String.init) ?? "", String(count)]] ?? Self.facts(tag, modified, count)
  }

  private static let all: [[String]: PictureFacts] = {
    var all: [[String]: PictureFacts] = [:]
    for tag in tags {
      for time in times {
        for count in counts {
          all[[tag ?? "", time.map(String.init) ?? "", String(count)]] = facts(tag, time, count)
        }
      }
    }
    return all
  }()
  private static let tags = ["\"00aa\"", nil, "\"x\""]
  private static let times = [now - 10, nil, now, now - 86_400]
  private static let counts = [100, 1, 5_000_000_000]

  private static func facts(_ tag: String?, _ modified: Int64?, _ count: Int) -> PictureFacts {
    let checksum = tag.map { #","checksum":"\#($0.dropFirst().dropLast())""# } ?? ""
    let date = modified.map { #","modified":"\#(Timestamp.rfc3339($0))""# } ?? ""
    let line = #"{"ok":true,"type":"image/png","fds":[{"bytes":\#(count)\#(checksum)\#(date)}]}"#
    guard let reply = try? Reply(Array(line.utf8), from: "/s"), let facts = PictureFacts(reply) else {
      fatalError("a picture has facts")
    }
    return facts
  }

  /// Short words of the input stand for tags and dates that mean something.
  func expanded(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\u{1}": result += "\"00aa\""
      case "\u{2}": result += HTTPDate.text(Self.now - 10)
      case "\u{3}": result += HTTPDate.text(Self.now)
      case "\u{4}": result += "W/\"x\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

/// RFC 9110, 13.2.2 as its five steps, and 14.2.
private struct SecondTable {
  let sent: [(name: String, value: String)]
  let picture: SamplePicture

  init(_ sent: [(name: String, value: String)], _ picture: SamplePicture) {
    (self.sent, self.picture) = (sent, picture)
  }

  private func values(_ name: String) -> [String] { sent.filter { $0.name == name }.map(\.value) }

  var verdict: Conditions.Verdict {
    if !values("If-Match").isEmpty {
      if !names(values("If-Match"), isStrong: true) { return .failed }
    } else if let date = date("If-Unmodified-Since"), let modified = picture.modified, modified > date {
      return .failed
    }
    let known = values("If-None-Match")
    if !known.isEmpty { return names(known, isStrong: false) ? .isKnown : .goesOn }
    guard let date = date("If-Modified-Since"), let modified = picture.modified else { return .goesOn }
    return modified <= date ? .isKnown : .goesOn
  }

  var permitsPart: Bool {
    let values = values("If-Range")
    guard values.count < 2 else { return false }
    guard let value = values.first else { return true }
    if names([value], isStrong: true, hasStar: false) { return true }
    guard let modified = picture.modified, modified < SamplePicture.now else { return false }
    return HTTPDate.parse(value, now: SamplePicture.now) == modified
  }

  private func date(_ name: String) -> Int64? {
    values(name).count == 1 ? HTTPDate.parse(values(name)[0], now: SamplePicture.now) : nil
  }

  /// Whether lists name the picture, by the rule for strong comparison or by that for weak comparison.
  private func names(_ lists: [String], isStrong: Bool, hasStar: Bool = true) -> Bool {
    if hasStar, lists.count == 1, lists[0].utf8.filter({ $0 != 0x20 && $0 != 0x09 }) == [UInt8(ascii: "*")] {
      return true
    }
    guard let own = picture.tag.flatMap({ FuzzTarget.TagList.read(Array($0.utf8)) })?.first else { return false }
    var isNamed = false
    for list in lists {
      guard let tags = FuzzTarget.TagList.read(Array(list.utf8)) else { return false }
      isNamed = isNamed || tags.contains { $0.opaque == own.opaque && !(isStrong && $0.isWeak) }
    }
    return isNamed
  }

  /// One range: first-last, first- or -suffix.
  func range(of values: [String]) -> ByteRange {
    guard values.count == 1 else { return .whole }
    let bytes = values[0].utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
    guard bytes.starts(with: "bytes=".utf8) else { return .whole }
    let spec = bytes.dropFirst(6)
    guard let dash = spec.firstIndex(of: UInt8(ascii: "-")) else { return .whole }
    let (first, last) = (number(spec[..<dash]), number(spec[(dash + 1)...]))
    switch (spec[..<dash].isEmpty, spec[(dash + 1)...].isEmpty) {
    case (true, false):
      guard let last else { return .whole }
      if last == 0 { return .unsatisfiable }
      return .part(max(0, picture.count - last)..<picture.count)
    case (false, true):
      guard let first else { return .whole }
      return first < picture.count ? .part(first..<picture.count) : .unsatisfiable
    case (false, false):
      guard let first, let last, first <= last else { return .whole }
      return first < picture.count ? .part(first..<min(picture.count, last + 1)) : .unsatisfiable
    default: return .whole
    }
  }

  /// A number of digits alone, which is cut where it is beyond every picture.
  private func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var number = 0
    for digit in digits {
      guard 0x30...0x39 ~= digit else { return nil }
      number = min(number * 10 + Int(digit - 0x30), 1 << 50)
    }
    return digits.isEmpty ? nil : number
  }
}

extension FuzzTarget {
  /// What the gateway makes of who asks: addresses behind a proxy, traces, origins of scripts, and the lines of its log.
  static let visitors = FuzzTarget(
    "visitors",
    of: [
      "ImgdGateway/AddressLimits.swift", "ImgdGateway/Server/RequestNotes.swift",
      "ImgdGateway/AccessLog/Signatures.swift",
      "ImgdGateway/AccessLog/AccessEntry.swift", "ImgdGateway/Pictures/CrossOrigins.swift",
    ], longest: 256
  ) { bytes in
    var choices = Choices(bytes)
    let style = choices.byte()
    let lines = choices.lines()
    for text in lines {
      checkAddress(text)
      if let trace = TraceContext([text]) {
        expect(TraceContext([trace.text]) == trace, "a trace survives")
        expect(trace.child(1).traceID == trace.traceID, "work for it belongs to it")
      }
      if let advice = CrossOrigins.advice(on: text) { expect(!advice.isEmpty, "advice has words") }
      let short = Signatures.shortened(in: text)
      expect(short.utf8.count <= text.utf8.count + 3 * text.utf8.count / 7 + 3, "a short text is short")
    }
    checkEntry(lines, style)
  }

  private static func checkAddress(_ text: String) {
    let key = AddressKey(text)
    let forwarded = ForwardedAddress.client(of: ["1.2.3.4, " + text], peer: .loopback, trusting: [.loopback])
    if !text.utf8.contains(UInt8(ascii: ",")) {
      let core = text.utf8.contains { $0 == 0x20 || $0 == 0x09 } ? forwarded : key
      expect(forwarded == core, "the last address is the proxy's")
    }
    expect(ForwardedAddress.client(of: [text], peer: .unix, trusting: []) == nil, "nobody else is believed")
    expect(!key.share.isEmpty && key.share.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a share has a name")
  }

  /// A line of the log is one line, and JSON where it says so, whatever a client has sent.
  private static func checkEntry(_ texts: [String], _ style: UInt8) {
    guard texts.count >= 3 else { return }
    let entry = AccessEntry(
      time: 1_700_000_000_000_000_000, notes: RequestNotes(), method: "GET", target: texts[0], isHTTP10: style & 1 == 0,
      status: 200, bytes: 5, duration: .milliseconds(3), referer: texts[1], agent: texts[2])
    for form in [AccessLog.Form.json, .combined] {
      let line = entry.line(as: form)
      expect(line.last == 0x0A && !line.dropLast().contains { $0 < 0x20 || $0 == 0x7F }, "an entry is one line")
      if form == .json { expect((try? JSONValue(parsing: line.span)) != nil, "in JSON") }
    }
  }
}
