// The fuzzer's way into the control language. It is compiled together with the sources of ImgdWire
// and stands for a client that sends anything: the bytes go through the framer in two pieces and
// every line through the parser; what is refused is answered, and the answer must be JSON.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWire(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let middle = count > 0 ? Int(bytes[0]) % (count + 1) : 0
  var framer = LineFramer(longestLine: 512)
  framer.feed(bytes.span.extracting(0..<middle), parse)
  framer.resume(parse)
  framer.feed(bytes.span.extracting(middle..<count), parse)
  while !framer.finish(parse) {}
  checkValue(bytes)
  return 0
}

/// Parses one line and pauses after some, so that the framer has to carry the rest.
private func parse(_ finding: borrowing LineFramer.Finding) -> LineFramer.Flow {
  switch finding {
  case .line(let line):
    let parsed = RequestParser.parse(line)
    if case .refused(let error) = parsed.outcome { checkAnswer(parsed.id, error) }
    return line.count % 3 == 0 ? .pause : .next
  case .tooLong: return .next
  }
}

private func checkAnswer(_ id: RequestID, _ error: WireError) {
  var writer = JSONWriter()
  ReplyEncoder.failure(id: id, error: error, into: &writer)
  let answer = try? JSONValue(parsing: writer.bytes.span)
  precondition(answer?["ok"] == false, "a refusal is one JSON object that says so")
}

/// A value that was read must read the same after it was written.
private func checkValue(_ bytes: [UInt8]) {
  guard let value = try? JSONValue(parsing: bytes.span) else { return }
  let again = try? JSONValue(parsing: value.encoded())
  precondition(again == value, "a value survives being written and read")
}
