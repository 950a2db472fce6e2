@testable import ImgdCache
@testable import ImgdFleet
@testable import ImgdSystem

extension FuzzTarget {
  /// What a fleet's server has under a picture's key, in any pieces.
  static let fleetValues = FuzzTarget(
    "fleet-values", of: ["ImgdCache/Record/FleetValue.swift", "ImgdCache/Record/ArrivingValue.swift"]
  ) { bytes in
    guard bytes.count % 4 != 0 else { return checkAnything(bytes) }
    var choices = Choices(bytes)
    var record = PlannedRecord.make(&choices)
    let payload = record.facts == .none ? Payload([]) : Payload(choices.bytes(1 + Int(choices.byte()) % 64))
    record.bytes = payload.count
    record.checksum = BodyChecksum(of: payload)
    let value = FleetValue(
      begunAt: choices.number(), storedAt: choices.number(),
      mark: FleetPosition(generation: choices.number(), number: choices.number(), nonce: choices.number()),
      stamp: choices.number(), record: record, payload: payload)
    guard let front = value.front else { return }
    let whole = front + payload.bytes
    guard bytes.count % 4 == 1 else { return checkChange(whole, record.digest, &choices) }
    expect(whole.count <= FleetValue.mostBytes(picture: payload.count), "a value is as short as was said")
    guard case .success(let read) = FleetValue.decode(arrived(whole, &choices), under: record.digest) else {
      fatalError("a value survives being written and read")
    }
    expect(read.stamp == value.stamp && read.mark == value.mark, "with its marks")
    expect(read.payload.bytes == payload.bytes && read.record.digest == record.digest, "and its picture")
    expect(read.record.owner == nil, "whose user is nobody's business")
  }

  private static func checkChange(_ whole: [UInt8], _ digest: KeyDigest, _ choices: inout Choices) {
    var changed = whole
    let place = Int(choices.number(UInt16.self)) % changed.count
    changed[place] ^= 1 << (choices.byte() & 7)
    if case .success = FleetValue.decode(arrived(changed, &choices), under: digest) {
      fatalError("a bit that was turned shows")
    }
    let other = KeyDigest(high: digest.high ^ 1, low: digest.low)
    if case .success = FleetValue.decode(arrived(whole, &choices), under: other) {
      fatalError("a value lies under its own key")
    }
  }

  private static func checkAnything(_ bytes: [UInt8]) {
    let digest = KeyDigest(high: 1, low: 2)
    for start in [[], Array(FleetValue.magic.utf8) + [1, 0, 0, 0]] {
      let whole = ArrivedValue(start + bytes)
      expect(whole.front.count <= FleetValue.headLength + FleetValue.mostRowBytes, "little is kept of anything")
      if case .success = FleetValue.decode(whole, under: digest) { fatalError("nobody finds such a digest") }
      _ = FleetValue.isNewer(bytes.span, than: FleetValue.newestLayout)
    }
  }

  /// The value in pieces, which is the same as the whole.
  private static func arrived(_ bytes: [UInt8], _ choices: inout Choices) -> ArrivedValue {
    let arriving = ArrivingValue(count: bytes.count)
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + 1 + Int(choices.byte()) * 3)
      arriving.append(bytes.span.extracting(start..<end))
      start = end
    }
    let value = arriving.finish()
    expect(value == ArrivedValue(bytes), "a value does not depend on where it is cut")
    return value
  }

  /// Entries of the log of purges, lines of hosts, and what a server says about itself: anybody may have written them.
  static let fleetLog = FuzzTarget(
    "fleet-log",
    of: [
      "ImgdFleet/PurgeSender.swift", "ImgdFleet/HostNote.swift", "ImgdFleet/Server/ServerCheck.swift",
      "ImgdCache/Purges/PurgeFilter.swift",
    ]
  ) { bytes in
    var choices = Choices(bytes)
    switch choices.byte() % 3 {
    case 0: checkEntry(&choices)
    case 1: checkNote(Array(choices.rest))
    default: checkServer(&choices)
    }
  }

  private static let names = [
    "v", "nonce", "by", "at", "soft", "url", "identifier", "prefix", "host", "tag", "older", "x",
  ]

  private static func checkEntry(_ choices: inout Choices) {
    let (serverNow, wallNow) = (Int64(choices.number(UInt32.self)) * 1000, Int64(choices.number(UInt32.self)))
    var fields: [RedisReply] = []
    if choices.flag() {
      for (name, value) in [("v", "1"), ("nonce", "7"), ("by", "h"), ("at", "12"), ("soft", "0")] {
        fields += [.bytes(Array(name.utf8)), .bytes(Array(value.utf8))]
      }
    }
    while !choices.isAtEnd {
      let name = choices.byte()
      fields.append(name == 255 ? .number(1) : .bytes(Array(names[Int(name) % names.count].utf8)))
      fields.append(.bytes(choices.line()))
    }
    guard let entry = PurgeEntry(fields, serverNow: serverNow, wallNow: wallNow) else { return }
    expect(ServerClock.times ~= entry.askedAt && entry.purge.askedAt <= wallNow, "nobody asks in the future")
    let written = entry.fields.map { RedisReply.bytes(Array($0.utf8)) }
    let again = PurgeEntry(written, serverNow: serverNow, wallNow: wallNow)
    expect(again == entry, "a purge survives being written and read")
    expect(entry.purge.filter.unusedFor == nil && !entry.purge.filter.expired, "uses are a host's own")
    let image = CanonicalURL.ofDescriptor
    _ = entry.purge.filter.matchesURL(image.text.utf8.span)
    _ = entry.purge.filter.matchesURL("http://a.b.example.org/x".utf8.span)
    if let url = entry.purge.filter.url {
      expect(entry.purge.filter.matchesURL(url.text.utf8.span) || entry.purge.filter.isNarrower, "it means its URL")
    }
  }

  private static func checkNote(_ bytes: [UInt8]) {
    guard let (note, at) = HostNote.read(bytes) else { return }
    expect(ServerClock.times ~= at && note.waiting >= 0 && note.pending >= 0, "a note has sane numbers")
    let text = note.text(at: at)
    expect(text.utf8.count <= HostNote.mostBytes, "a note is as short as it may be")
    guard let (again, then) = HostNote.read(Array(text.utf8)) else { return }
    // Names that are too long are cut.
    expect(then == at && again.position == note.position && again.layout == note.layout, "a note survives")
    expect(again.settings.map(\.name) == note.settings.map(\.name).prefix(again.settings.count).map { $0 }, "a setting")
  }

  private static func checkServer(_ choices: inout Choices) {
    let texts = choices.lines()
    let rules = ServerRules([texts.joined(separator: "\r\n"), "redis_version:7.0\nmaxmemory_policy:volatile-lfu"])
    for duty in [ServerLink.Duty.purges, .pictures] {
      guard let trouble = rules.trouble(for: duty) else { continue }
      expect(!trouble.reason.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a trouble is one printable line")
      expect(trouble.reason.utf8.count < 300, "and a short one")
    }
    var clock = ServerClock()
    let now = Instant(nanoseconds: 1 << 40)
    let parts = texts.prefix(2).map { RedisReply.bytes(Array($0.utf8)) }
    if clock.set(.list(Array(parts)), at: now) {
      expect(ServerClock.times ~= clock.time(at: Instant(nanoseconds: .max)), "a clock stays within its years")
      expect(clock.age(of: clock.time(at: now), at: now) == .zero, "what was written now has no age")
    }
  }

  /// Replies of a server, cut anywhere, against a second reader that has all of them at once.
  static let fleetReplies = FuzzTarget("fleet-replies", of: ["ImgdFleet/Server/ReplyReader.swift"], longest: 256) {
    bytes in
    var choices = Choices(bytes)
    let (first, second) = (Int(choices.byte()), Int(choices.byte()))
    let rest = Array(choices.rest)
    let whole = replies(in: rest, cutAt: [])
    expect(whole == PlainReplies.read(rest), "two readers read the same replies")
    let places = [first % (rest.count + 1), second % (rest.count + 1)].sorted()
    expect(replies(in: rest, cutAt: places) == whole, "replies do not depend on where they are cut")
    for reply in whole {
      guard let reply, let entries = try? LogEntry.all(in: reply, after: UInt64(first)) else { continue }
      expect(entries.map(\.number) == entries.map(\.number).sorted(), "entries of a log ascend")
      expect(entries.allSatisfy { $0.number > first }, "and go on from where it was left")
    }
  }

  private static let most = 200

  /// The replies, and nil for a problem, behind which nothing is read.
  private static func replies(in bytes: [UInt8], cutAt places: [Int]) -> [RedisReply?] {
    var reader = ReplyReader()
    var found: [RedisReply?] = []
    var start = 0
    for end in places + [bytes.count] {
      let piece = bytes[start..<end].map { $0 }
      start = end
      var place = 0
      do throws(ReplyReader.Problem) {
        while let reply = try reader.next(in: piece.span, from: &place, most: most, asValue: false) {
          found.append(reply)
        }
      } catch { return found + [nil] }
    }
    return found
  }

  /// RESP, version 2, read by recursion.
  private struct PlainReplies {
    private enum End: Error { case problem, more }

    private let bytes: [UInt8]
    private var place = 0
    private var begun = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func read(_ bytes: [UInt8]) -> [RedisReply?] {
      var reader = Self(bytes)
      var found: [RedisReply?] = []
      while true {
        reader.begun = reader.place
        do throws(End) { found.append(try reader.reply(depth: 0)) } catch {
          return error == .problem ? found + [nil] : found
        }
      }
    }

    private mutating func line() throws(End) -> [UInt8] {
      var line: [UInt8] = []
      while true {
        guard place < bytes.count else { throw .more }
        let byte = bytes[place]
        place += 1
        if byte == 0x0A {
          guard line.last == 0x0D else { throw .problem }
          return line.dropLast()
        }
        guard line.last != 0x0D else { throw .problem }
        line.append(byte)
        guard place - begun <= most else { throw .problem }
      }
    }

    private mutating func reply(depth: Int) throws(End) -> RedisReply {
      let line = try line()
      guard let kind = line.first else { throw .problem }
      let text = String(decoding: line.dropFirst(), as: UTF8.self)
      switch kind {
      case UInt8(ascii: "+"): return .word(text)
      case UInt8(ascii: "-"): return .failure(printable(text, longest: 300))
      case UInt8(ascii: ":"): return .number(try number(text))
      case UInt8(ascii: "$"):
        let length = try number(text)
        guard length >= -1 else { throw .problem }
        guard length >= 0 else { return .nothing }
        guard length <= most - (place - begun) else { throw .problem }
        guard bytes.count - place >= length else {
          place = bytes.count
          throw .more
        }
        let string = Array(bytes[place..<place + Int(length)])
        place += Int(length)
        guard try self.line().isEmpty else { throw .problem }
        return .bytes(string)
      case UInt8(ascii: "*"):
        let length = try number(text)
        guard -1...1_024 ~= length else { throw .problem }
        guard length >= 0 else { return .nothing }
        guard length == 0 || depth < 7 else { throw .problem }
        var parts: [RedisReply] = []
        for _ in 0..<length { parts.append(try reply(depth: depth + 1)) }
        return .list(parts)
      default: throw .problem
      }
    }

    private func number(_ text: String) throws(End) -> Int64 {
      let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
      guard !digits.isEmpty, digits.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int64(text) else { throw .problem }
      return number
    }
  }
}

extension PurgeFilter {
  /// Whether it names more than a URL.
  fileprivate var isNarrower: Bool { prefix != nil || host != nil }
}
