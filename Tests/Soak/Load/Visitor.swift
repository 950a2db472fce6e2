import Glibc
import ImgdTestSupport
import ImgdWire

/// One client of the daemon, which asks for all kinds of things, and knows what it may be answered.
final class Visitor: @unchecked Sendable {
  // Unchecked: used by its own thread alone.
  private let number: Int
  private let house: House
  private let ledger: Ledger
  private let verdict: Verdict
  private var noise: Noise
  private var client: TestClient?
  /// The daemon's life in which it connected.
  private var life = 0
  private var asked: [Int: Request] = [:]
  private var nextID = 0
  /// The version of its own picture that it has put last, and the one that it was told is in the cache.
  private var handed = 0
  private var kept = 0

  private enum Request {
    case picture(Verdict.Question)
    /// The versions that may be seen afterwards.
    case purge([Int: Int])
    case put(Int)
    case handed(Int)
    case other
  }

  init(_ number: Int, in house: House, _ ledger: Ledger) {
    self.number = number
    self.house = house
    self.ledger = ledger
    verdict = Verdict(gallery: house.gallery, ledger: ledger)
    noise = Noise(seed: UInt64(number) + 100)
  }

  /// Asks until `isOver`.
  func stay(until isOver: () -> Bool) {
    while !isOver() {
      do { try converse() } catch { judge(failure: "\(error)") }
    }
    client = nil
  }

  // MARK: A conversation

  private func converse() throws {
    if client == nil { try connect() }
    let lines = (0..<Int.random(in: 1...6, using: &noise)).map { _ in request() }
    try client?.sendRaw(Array(lines.joined().utf8))
    while !asked.isEmpty {
      guard let client else { return }
      let line = try client.receive()
      if line["ok"] != nil { try hear(line, from: client) }
    }
    // Now and then it goes, and comes again.
    if chance(3) { client = nil }
    poll(nil, 0, CInt.random(in: 5...60, using: &noise))
  }

  private func connect() throws {
    let now = house.life.with { $0 }
    // What a daemon that was killed had not written down yet is as it was before.
    if now != life { kept = 0 }
    life = now
    guard life > 0, let made = try? house.daemon.connect() else {
      // It is being started.
      poll(nil, 0, 20)
      throw Absence()
    }
    client = made
  }

  private struct Absence: Error {}

  /// A connection that ends has to have a reason, and so does an answer that does not come.
  private func judge(failure: String) {
    let isSameLife = client != nil && house.life.with { $0 } == life
    client = nil
    defer { asked = [:] }
    guard isSameLife, !asked.isEmpty else { return }
    // Whether the daemon is being ended shows a moment later.
    poll(nil, 0, 100)
    guard house.life.with({ $0 }) == life else { return }
    ledger.lost(asked.count, "client \(number): \(failure); waiting for \(Array(asked.values.prefix(3)))")
  }

  // MARK: Asking

  private func request() -> String {
    nextID += 1
    let id = nextID
    switch Int.random(in: 0..<100, using: &noise) {
    case 0..<3: return purge(id)
    case 3..<9: return put(id)
    case 9..<12: return fetchOwn(id)
    case 12..<14: return fetchAndCancel(id)
    case 14..<17: return fetchForSlot(id)
    case 17..<22: return ask(other(), id)
    default: return fetch(id)
    }
  }

  private func fetch(_ id: Int, _ further: String = "") -> String {
    // The first are asked for most.
    let most = chance(50) ? 12 : Gallery.count
    let picture = Int.random(in: 0..<most, using: &noise)
    // Most want the picture as it is.
    let forms: [Verdict.Form] = chance(70) ? [.path, .inline, .descriptor] : Verdict.Form.allCases
    let question = Verdict.Question(
      number: picture, oldest: house.gallery.oldest(picture), form: forms.randomElement(using: &noise) ?? .path)
    asked[id] = .picture(question)
    let mode = chance(4) ? #","cache":"reload""# : chance(4) ? #","cache":"no-cache""# : ""
    return #"{"cmd":"fetch","id":\#(id),"url":"\#(url(picture))"\#(question.form.fields)\#(mode)\#(further)}"# + "\n"
  }

  private func purge(_ id: Int) -> String {
    // Some are purged all the time, others hardly ever: those are on disk, and in nobody's mind.
    let share = Double.random(in: 0..<1, using: &noise)
    let picture = 1 + Int(share * share * share * Double(Gallery.count - 1))
    let (filter, numbers): (String, [Int]) =
      switch Int.random(in: 0..<800, using: &noise) {
      case 0: ("", Array(0..<Gallery.count))
      case 1...2: (#","tag":"third","host":"127.0.0.1""#, (0..<Gallery.count).filter(Gallery.isInGroup))
      case 3...9:
        (#","prefix":"\#(url(picture))""#, (0..<Gallery.count).filter { url($0).hasPrefix(url(picture)) })
      default: (#","url":"\#(url(picture))""#, [picture])
      }
    let versions = house.gallery.publish(numbers)
    house.gallery.diary.note(numbers, "client \(number) purges\(filter)")
    asked[id] = .purge(versions)
    return #"{"cmd":"purge","id":\#(id)\#(filter)}"# + "\n"
  }

  private func put(_ id: Int) -> String {
    handed += 1
    asked[id] = .put(handed)
    var data: [UInt8] = []
    data.append(base64: ownPicture(handed).span)
    let text = String(decoding: data, as: UTF8.self)
    return #"{"cmd":"put","id":\#(id),"url":"\#(ownURL)","ttl":3600,"data":"\#(text)"}"# + "\n"
  }

  /// What it has put itself, which the origin does not have.
  private func fetchOwn(_ id: Int) -> String {
    asked[id] = .handed(kept)
    return #"{"cmd":"fetch","id":\#(id),"url":"\#(ownURL)","cache":"only-if-cached","deliver":"inline"}"# + "\n"
  }

  private func fetchAndCancel(_ id: Int) -> String {
    let receipt = "00000000-0000-4000-8000-\(hex(number, 4))\(hex(id, 8))"
    let line = fetch(id, #","receipt":"\#(receipt)""#)
    nextID += 1
    return line + ask(#""cmd":"cancel","receipt":"\#(receipt)""#, nextID)
  }

  /// The newer of two takes the place of the older one, which is told so.
  private func fetchForSlot(_ id: Int) -> String {
    let line = fetch(id, #","slot":"view""#)
    nextID += 1
    return line + fetch(nextID, #","slot":"view""#)
  }

  private func ask(_ what: String, _ id: Int) -> String {
    asked[id] = .other
    return "{\"id\":\(id),\(what)}\n"
  }

  private func other() -> String {
    switch Int.random(in: 0..<5, using: &noise) {
    case 0: #""cmd":"stats""#
    case 1: #""cmd":"list""#
    case 2: #""cmd":"entries","limit":20"#
    case 3: #""cmd":"query","url":"\#(url(1))""#
    default: #""cmd":"ping""#
    }
  }

  // MARK: Hearing

  private func hear(_ line: JSONValue, from client: TestClient) throws {
    guard let id = line["id"]?.integer, let request = asked.removeValue(forKey: Int(id)) else {
      return ledger.wrong("client \(number) was answered what it has not asked, or twice: \(line.text.prefix(300))")
    }
    let content = content(of: line, from: client)
    guard line["ok"] == .bool(true) else { return hear(error: line) }
    switch request {
    case .picture(let question):
      ledger.count("\(question.form) from \(line["source"]?.string ?? "nowhere")")
      verdict.judge(line, to: question, content)
    case .purge(let versions):
      ledger.count("purge")
      house.gallery.raise(versions, isLasting: line["disk"] != "pending", isSent: line["fleet"] == "sent")
      house.gallery.diary.note(versions.keys, "client \(number) has its answer: \(line.text)")
    case .put(let version):
      ledger.count("put")
      kept = max(kept, version)
    case .handed(let oldest): judge(own: content ?? [], since: oldest)
    case .other: ledger.count("other")
    }
  }

  private func hear(error line: JSONValue) {
    let code = line.failureCode ?? "none"
    ledger.count(error: code)
    // What no fault explains.
    if ["bad_json", "bad_request", "unknown_field", "unknown_command", "internal", "none"].contains(code) {
      ledger.wrong("client \(number): \(line.text.prefix(300))")
    }
  }

  /// The bytes that came with a line, in whatever way.
  private func content(of line: JSONValue, from client: TestClient) -> [UInt8]? {
    if let data = line["data"]?.string { return Base64.decode(data) }
    // Its file is there for as long as `Disk.Lease` says, unless the disk has gone.
    if let path = line["path"]?.string { return readBytes(path) }
    guard line["fds"] != nil, let descriptor = client.takeDescriptor() else { return nil }
    defer { close(descriptor) }
    return contents(of: descriptor)
  }

  // MARK: Its own picture

  private var ownURL: String { house.origin.url("/own-\(number)") }

  private func ownPicture(_ version: Int) -> [UInt8] {
    TestPicture.png(bytes: 600, seed: UInt64(number) << 32 + UInt64(version))
  }

  /// What was in the cache before it was asked for, or what was put since.
  private func judge(own bytes: [UInt8], since oldest: Int) {
    ledger.count("own picture")
    let isFound = stride(from: handed, through: max(1, oldest), by: -1).contains { ownPicture($0) == bytes }
    if !isFound {
      ledger.wrong("client \(number) found \(bytes.count) bytes, not what it had put since version \(oldest)")
    }
  }

  // MARK: Small things

  private func url(_ picture: Int) -> String { house.origin.url(Gallery.path(picture)) }

  private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &noise) < percent }

  private func hex(_ number: Int, _ digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text.suffix(digits)
  }
}
