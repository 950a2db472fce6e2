/// What is found out about a request on the way to its answer, for the metrics and the access log.
package struct RequestNotes: Equatable, Sendable {
  /// Where the picture of its answer comes from; nil for an answer without one.
  package var source: AnswerSource?
  /// The address by which it is counted; nil for a program of this machine.
  package var client: AddressKey?
  /// The trace that it belongs to, with the span of its own work.
  package var trace: TraceContext?

  package init() {}
}

/// Where the picture of an answer comes from: this thread has held it, or what the daemon says.
package enum AnswerSource: String, Sendable { case held, memory, disk, fleet, network, revalidated, client }

/// A request's place in a trace, as `traceparent` has it (W3C Trace Context, level 1).
package struct TraceContext: Equatable, Sendable {
  package let traceID: String
  package let spanID: String
  private let isSampled: Bool

  /// Reads the one value of the field; nil for everything that the grammar does not permit. Of a later version only the
  /// parts are read that all versions have.
  package init?(_ values: [String]) {
    guard values.count == 1, let text = values.first else { return nil }
    let bytes = Array(text.utf8)
    guard bytes.count == 55 || bytes.count > 55 && bytes[55] == UInt8(ascii: "-"),
      [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") })
    else { return nil }
    let parts = [bytes[0..<2], bytes[3..<35], bytes[36..<52], bytes[53..<55]]
    guard parts.allSatisfy({ $0.allSatisfy(Self.isDigit) }), bytes.count == 55 || !parts[0].elementsEqual("00".utf8),
      !parts[0].elementsEqual("ff".utf8), parts[1...2].allSatisfy({ $0.contains { $0 != UInt8(ascii: "0") } })
    else { return nil }
    traceID = String(decoding: parts[1], as: UTF8.self)
    spanID = String(decoding: parts[2], as: UTF8.self)
    // The other flags are for those who know them.
    isSampled = "13579bdf".utf8.contains(bytes[54])
  }

  private init(_ traceID: String, _ spanID: String, isSampled: Bool) {
    (self.traceID, self.spanID, self.isSampled) = (traceID, spanID, isSampled)
  }

  /// The context of work that is done for this one, under a number that is not zero.
  package func child(_ number: UInt64 = .random(in: 1...UInt64.max)) -> TraceContext {
    let digits = String(number, radix: 16)
    return TraceContext(traceID, String(repeating: "0", count: 16 - digits.count) + digits, isSampled: isSampled)
  }

  /// The value of the field for those who are asked.
  package var text: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }
}
