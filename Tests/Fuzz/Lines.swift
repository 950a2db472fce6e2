@testable import ImgdWire

extension FuzzTarget {
  /// A client that sends anything. However its bytes are divided, the same lines come out; what is refused is answered
  /// in JSON, what is understood is understood again when it is written, and a line that has the shape of another
  /// means what the parser says.
  static let lines = FuzzTarget(
    "lines",
    of: [
      "ImgdWire/LineFramer.swift", "ImgdWire/LineShape.swift", "ImgdWire/Request", "ImgdWire/FetchRequest.swift",
      "ImgdWire/BoxParser.swift", "ImgdWire/PictureCut.swift", "ImgdWire/HeaderParser.swift",
      "ImgdWire/PictureForm.swift", "ImgdWire/ReceiptID.swift", "ImgdWire/WireError.swift",
    ], longest: 250
  ) { bytes in
    let wanted = PlainFraming.findings(in: bytes)
    guard bytes.count % 2 == 0 else { return checkRequests(wanted.compactMap { $0 }) }
    expect(framed(bytes, cutAt: []) == wanted, "whole bytes are cut into lines")
    let middle = bytes.first.map { Int($0) % (bytes.count + 1) } ?? 0
    let later = bytes.last.map { middle + Int($0) % (bytes.count + 1 - middle) } ?? 0
    expect(framed(bytes, cutAt: [middle, later]) == wanted, "lines do not depend on where the bytes are cut")
  }

  private static func checkRequests(_ lines: [[UInt8]]) {
    var shape: LineShape?
    for line in lines {
      let isFetch = checkRequest(line)
      if let shape { checkShape(shape, line) }
      if isFetch, let next = LineShape(line.span) { shape = next }
      if let shape { checkShape(shape, line) }
    }
  }

  private static let longest = 100

  /// Lines as they are found, with nil for one that is too long.
  private static func framed(_ bytes: [UInt8], cutAt places: [Int]) -> [[UInt8]?] {
    var framer = LineFramer(longestLine: longest)
    var found: [[UInt8]?] = []
    func keep(_ finding: borrowing LineFramer.Finding) -> LineFramer.Flow {
      switch finding {
      case .line(let line):
        found.append(line.indices.map { line[$0] })
        return line.count % 3 == 0 ? .pause : .next
      case .tooLong:
        found.append(nil)
        return .next
      }
    }
    var start = 0
    for end in places + [bytes.count] {
      framer.feed(bytes.span.extracting(start..<end), keep)
      if end % 2 == 0 { framer.resume(keep) }
      start = end
    }
    while !framer.finish(keep) {}
    return found
  }

  /// The rules of docs/protocol.md, applied to all bytes at once.
  private enum PlainFraming {
    static func findings(in bytes: [UInt8]) -> [[UInt8]?] {
      bytes.split(separator: 0x0A, omittingEmptySubsequences: false).compactMap { finding(Array($0)) }
    }

    private static func finding(_ line: [UInt8]) -> [UInt8]?? {
      let first = line.prefix(longest).first { ![0x20, 0x09, 0x0D].contains($0) }
      if first == UInt8(ascii: "#") { return nil }
      if line.count > longest { return .some(nil) }
      guard first != nil else { return nil }
      return line.last == 0x0D ? line.dropLast() : line
    }
  }

  /// Returns whether it is a fetch.
  private static func checkRequest(_ line: [UInt8]) -> Bool {
    let parsed = RequestParser.parse(line.span)
    switch parsed.outcome {
    case .refused(let error):
      var writer = JSONWriter()
      ReplyEncoder.failure(id: parsed.id, error: error, into: &writer)
      let answer = try? JSONValue(parsing: writer.bytes.span)
      expect(answer?["ok"] == false, "a refusal is one JSON object that says so")
      expect(!writer.bytes.dropLast().contains(0x0A), "a refusal is one line")
      return false
    case .request(let request):
      let again = RequestParser.parse(request.line(id: parsed.id).span)
      guard case .request(request) = again.outcome, again.id == parsed.id else {
        fatalError("a request survives being written and read")
      }
      return request.command == .fetch
    }
  }

  /// A line that fits a shape is a fetch, with what lies at the places that the shape names and with the rest of
  /// the line that the shape was learnt from.
  private static func checkShape(_ shape: LineShape, _ line: [UInt8]) {
    guard let parts = shape.parts(of: line.span) else { return }
    let parsed = RequestParser.parse(line.span)
    guard case .request(.fetch(let fetch)) = parsed.outcome else { fatalError("a line of a shape is a fetch") }
    expect(line[parts.url].elementsEqual(fetch.url.utf8), "the URL lies where the shape finds it")
    expect(parts.receipt == fetch.receipt, "the receipt lies where the shape finds it")
    expect(fetch.form == shape.form && fetch.tags == shape.tags, "lines of a shape ask for the same form")
    expect(fetch.delivery == shape.showing.delivery && fetch.http == shape.showing.http, "and in the same way")
    switch parsed.id {
    case .none: expect(parts.id.isEmpty, "there is no id where the shape finds none")
    case .integer(let id): expect(line[parts.id].elementsEqual(String(id).utf8), "the id lies there, too")
    case .string(let id): expect(line[parts.id].elementsEqual("\"\(id)\"".utf8), "the id lies there, too")
    }
    let tag = Array(line[parts.tag])
    let sent = fetch.headers.map(\.value)
    expect(tag.isEmpty ? sent.isEmpty : sent.count == 1 && sent[0].utf8.contains(tag), "the tag is the header's")
  }
}

extension String.UTF8View {
  fileprivate func contains(_ part: [UInt8]) -> Bool {
    let bytes = Array(self)
    guard bytes.count >= part.count else { return false }
    return (0...bytes.count - part.count).contains { bytes[$0...].starts(with: part) }
  }
}
