import ImgdConnection
import ImgdWire
import Testing

@testable import ImgdGateway

struct ErrorAnswerTests {
  private func answer(_ error: String) throws -> HTTPResponse {
    let line = Array(#"{"ok":false,"error":{\#(error)}}"#.utf8)
    return ErrorAnswer(try Reply(line, from: "/s")).response()
  }

  private func json(_ response: HTTPResponse) throws -> JSONValue {
    guard case .bytes(let bytes) = response.body else { return .null }
    #expect(bytes.last == UInt8(ascii: "\n"))
    return try JSONValue(parsing: Array(bytes.dropLast()).span)
  }

  @Test(
    arguments: [
      ("bad_request", 400), ("bad_url", 400), ("blocked_scheme", 400), ("unknown_field", 400),
      ("bad_json", 400), ("line_too_long", 414), ("blocked_address", 403), ("forbidden", 403),
      ("dns", 502), ("connect", 502), ("tls", 502), ("truncated", 502), ("empty_body", 502),
      ("too_many_redirects", 502), ("timeout", 504), ("not_an_image", 422),
      ("unsupported_format", 422), ("too_many_pixels", 422), ("decode_failed", 422),
      ("decode_crashed", 422), ("too_large", 422), ("too_many_requests", 503), ("queue_full", 503),
      ("shutting_down", 503), ("offline", 503), ("unavailable", 503), ("disk_full", 503), ("cancelled", 503),
      ("internal", 500), ("a_code_of_later", 500),
    ])
  func `each code has its status`(code: String, status: Int) throws {
    let response = try answer(#""code":"\#(code)","message":"why","retryable":true"#)
    #expect(response.status == status)
    #expect(response.value(of: "Retry-After") == (status == 503 ? "1" : nil))
    #expect(response.value(of: "Cache-Control") == "no-store")
    #expect(response.value(of: "Content-Type") == "application/json")
    #expect(response.value(of: "X-Content-Type-Options") == "nosniff")
    let error = try #require(json(response)["error"])
    #expect(error["code"]?.string == (code == "a_code_of_later" ? "internal" : code))
    #expect(error["retryable"] == true)
  }

  @Test(
    arguments: [
      (404, 404), (410, 410), (401, 403), (403, 403), (451, 403), (429, 503), (400, 502),
      (418, 502),
      (500, 502), (503, 502), (0, 502),
    ])
  func `an origin's status becomes one of this server's`(origin: Int, status: Int) throws {
    let error = #""code":"http_status","message":"m","details":{"status":\#(origin)}"#
    #expect(try answer(error).status == status)
  }

  @Test(arguments: [(1, "1"), (1_000, "1"), (1_001, "2"), (90_000, "90"), (0, "1"), (-5, "1")])
  func `an origin's wish to be left alone is passed on`(milliseconds: Int, seconds: String) throws {
    let details = #""details":{"status":429,"retry_after_ms":\#(milliseconds)}"#
    let response = try answer(#""code":"http_status","message":"m",\#(details)"#)
    #expect(response.value(of: "Retry-After") == seconds)
  }

  @Test func `details are passed on, but for addresses of the inner network`() throws {
    let response = try answer(
      #""code":"blocked_address","message":"h is at 10.0.0.7, which imgd may not connect to","#
        + #""details":{"address":"10.0.0.7","phase":"connect","limit":5,"field":"url"}"#)
    let error = try #require(json(response)["error"])
    #expect(error["details"] == ["phase": "connect", "limit": 5])
    #expect(error["field"] == "url")
    #expect(error["message"]?.string?.contains("10.0.0.7") == false)
  }

  @Test func `an answer without details has none, and one without an error is a failure`() throws {
    let error = try #require(json(try answer(#""code":"dns","message":"m""#))["error"])
    #expect(error["details"] == nil && error["field"] == nil && error["message"] == "m")
    #expect(ErrorAnswer(try Reply(Array("{}".utf8), from: "/s")).response().status == 500)
  }

  @Test func `a refusal of the gateway's own has its field, and others may be added`() throws {
    let refusal = GatewayError(400, "bad_request", "no \"width\"", field: "width")
    let response = ErrorAnswer(refusal).response(adding: [("Vary", "Accept")])
    #expect(response.status == 400 && response.value(of: "Vary") == "Accept")
    #expect(response.value(of: "Retry-After") == nil)
    #expect(try json(response)["error"]?["message"] == "no \"width\"")
    #expect(try json(response)["error"]?["field"] == "width")
    let many = ErrorAnswer(GatewayError(429, "too_many_requests", "too many", isRetryable: true))
    #expect(many.response().value(of: "Retry-After") == "1")
  }

  @Test func `no path of this machine is told when the daemon cannot be reached`() throws {
    let response = ErrorAnswer.unreachable.response()
    #expect(response.status == 503 && response.value(of: "Retry-After") == "1")
    #expect(try json(response)["error"]?["message"]?.string?.contains("/") == false)
  }
}
