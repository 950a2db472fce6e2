import Testing

@testable import ImgdGateway

struct TraceContextTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let span = "00f067aa0ba902b7"

  @Test(arguments: [
    ("00-\(trace)-\(span)-01", "01"), ("00-\(trace)-\(span)-00", "00"), ("00-\(trace)-\(span)-fe", "00"),
    ("00-\(trace)-\(span)-ff", "01"), ("cc-\(trace)-\(span)-01", "01"), ("cc-\(trace)-\(span)-01-what.ever", "01"),
  ])
  func `the parts are read`(text: String, flags: String) {
    let context = TraceContext([text])
    #expect(context?.traceID == Self.trace && context?.spanID == Self.span)
    #expect(context?.text == "00-\(Self.trace)-\(Self.span)-\(flags)")
  }

  @Test(arguments: [
    "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-x",
    "ff-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01.x", "0-\(trace)-\(span)-01", "00-\(trace)-\(span)-0g",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-\(span)-01", "00-00000000000000000000000000000000-\(span)-01",
    "00-\(trace)-0000000000000000-01", "00_\(trace)-\(span)-01", "00-\(trace)-\(span)_01", " 00-\(trace)-\(span)-01",
  ])
  func `what the grammar does not permit is no context`(text: String) { #expect(TraceContext([text]) == nil) }

  @Test func `of two none counts`() {
    let text = "00-\(Self.trace)-\(Self.span)-01"
    #expect(TraceContext([text, text]) == nil && TraceContext([]) == nil)
  }

  @Test func `every cut of one is none`() {
    let text = "00-\(Self.trace)-\(Self.span)-01"
    for count in 0..<text.utf8.count { #expect(TraceContext([String(text.prefix(count))]) == nil) }
  }

  @Test func `work for it has a span of its own in the same trace`() throws {
    let context = try #require(TraceContext(["00-\(Self.trace)-\(Self.span)-01"]))
    #expect(context.child(0xab).text == "00-\(Self.trace)-00000000000000ab-01")
    let child = context.child()
    #expect(child.spanID != context.spanID && TraceContext([child.text]) == child)
  }
}
