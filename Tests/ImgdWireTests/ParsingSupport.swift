import Testing

@testable import ImgdWire

/// Reads a line that must be accepted.
func request(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) -> Request? {
  switch RequestParser.parse(Array(line.utf8).span).outcome {
  case .request(let request): return request
  case .refused(let error):
    Issue.record("refused: \(error.message)", sourceLocation: sourceLocation)
    return nil
  }
}

/// Reads a fetch of `u` with further fields, which must be accepted.
func fetch(_ fields: String, sourceLocation: SourceLocation = #_sourceLocation) -> FetchRequest? {
  let line = #"{"cmd":"fetch","url":"u",\#(fields)}"#
  guard case .fetch(let fetch) = request(line, sourceLocation: sourceLocation) else { return nil }
  return fetch
}

/// Reads a line that must be refused.
func refusal(_ line: String) -> WireError? {
  if case .refused(let error) = RequestParser.parse(Array(line.utf8).span).outcome {
    error
  } else {
    nil
  }
}

/// A JSON string of `count` letters.
func letters(_ count: Int) -> String {
  "\"" + String(repeating: "x", count: count) + "\""
}
