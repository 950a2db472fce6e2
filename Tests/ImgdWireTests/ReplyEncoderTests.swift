import Glibc
import Testing

@testable import ImgdWire

struct ReplyEncoderTests {
  private func line(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test func `the reply of a failure has its keys in order and ends in a newline`() throws {
    let receipt = ReceiptID.random(using: (0, 0))
    let error = WireError(.httpStatus, "the origin said \"404\"", details: ["status": 404])
    let text = line {
      ReplyEncoder.failure(id: .integer(7), receipt: receipt, error: error, into: &$0)
    }
    #expect(
      text == #"{"id":7,"ok":false,"receipt":"00000000-0000-4000-8000-000000000000","#
        + #""error":{"code":"http_status","message":"the origin said \"404\"","#
        + #""retryable":false,"details":{"status":404}}}"# + "\n")
  }

  @Test func `an error can override whether its code is retryable`() {
    #expect(!WireError(.httpStatus, "").isRetryable)
    #expect(WireError(.httpStatus, "", retryable: true).isRetryable)
    #expect(WireError(.queueFull, "").isRetryable)
    #expect(!WireError(.dns, "", retryable: false).isRetryable)
  }

  @Test func `a reply echoes the id as it came, and has none without one`() {
    for (id, text) in [
      (RequestID.none, #"{"ok":true}"#),
      (.integer(.min), #"{"id":-9223372036854775808,"ok":true}"#),
      (.string("a\"\n"), #"{"id":"a\"\n","ok":true}"#), (.string(""), #"{"id":"","ok":true}"#),
    ] {
      let reply = line {
        ReplyEncoder.begin(id: id, ok: true, into: &$0)
        ReplyEncoder.end(into: &$0)
      }
      #expect(reply == text + "\n")
    }
  }

  @Test func `several replies are lines of their own`() {
    let receipt = ReceiptID.random(using: (0, 0))
    let text = line {
      ReplyEncoder.begin(id: .string("x"), event: "progress", receipt: receipt, into: &$0)
      $0.field("received", 1)
      ReplyEncoder.end(into: &$0)
      ReplyEncoder.begin(event: "overflow", into: &$0)
      ReplyEncoder.end(into: &$0)
      ReplyEncoder.begin(id: .none, ok: true, into: &$0)
      $0.field("receipt", receipt)
      ReplyEncoder.end(into: &$0)
    }
    let uuid = "00000000-0000-4000-8000-000000000000"
    #expect(
      text == """
        {"id":"x","event":"progress","receipt":"\(uuid)","received":1}
        {"event":"overflow"}
        {"ok":true,"receipt":"\(uuid)"}

        """)
  }
}

struct ReplyCodeTests {
  static let contract = """
    bad_json bad_request unknown_command unknown_field line_too_long forbidden duplicate_receipt
    unknown_receipt too_many_requests queue_full shutting_down bad_url blocked_scheme
    blocked_address offline dns connect tls timeout http_status too_large too_many_redirects empty_body
    truncated cancelled not_cached not_an_image unsupported_format too_many_pixels decode_failed
    decode_crashed too_large_inline disk_full unavailable internal
    """

  @Test func `the reply codes are those of the protocol, each once`() {
    let names = Self.contract.split { $0 == " " || $0 == "\n" }.map(String.init)
    #expect(ReplyCode.allCases.map(\.rawValue) == names)
    #expect(Set(names).count == names.count)
  }

  @Test func `the reply codes have their cause and the next step in their comment`() throws {
    let source = try #require(read("../../Sources/ImgdWire/ReplyCode.swift"))
    let lines = source.split(separator: "\n").map(String.init)
    let cases = lines.indices.filter { lines[$0].hasPrefix("  case ") && !lines[$0].contains(".") }
    #expect(cases.count == ReplyCode.allCases.count)
    for index in cases {
      let comment = lines[index - 1]
      #expect(comment.hasPrefix("  /// ") && comment.contains(": ") && comment.hasSuffix("."))
    }
  }

  private func read(_ path: String) -> String? {
    let here = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    guard let file = fopen("/\(here)/\(path)", "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
