import Testing

@testable import ImgdWire

/// The sentences for people in refusals: each names what was wrong, and what is right.
struct MessageTests {
  private func message(_ line: String) -> String { refusal(line)?.message ?? "accepted" }

  @Test(arguments: [
    (#""url":7"#, #""url" was 7; it takes an http or https URL"#),
    (#""url":"""#, #""url" is empty; it takes an http or https URL of at most 8192 bytes"#),
    (
      #""url":\#(letters(9000))"#,
      #""url" has 9000 bytes; it takes an http or https URL of at most 8192 bytes"#
    ),
  ])
  func `a wrong URL is told what a URL is`(field: String, said: String) {
    for command in ["fetch", "query", "purge"] {
      #expect(message(#"{"cmd":"\#(command)",\#(field)}"#) == said)
    }
  }

  @Test(arguments: [
    (#""identifier":7"#, #""identifier" was 7; it takes a string of at most 256 bytes"#),
    (#""slot":"""#, #""slot" is empty; it takes a string of 1 to 128 bytes"#),
    (#""slot":\#(letters(129))"#, #""slot" has 129 bytes; it takes a string of 1 to 128 bytes"#),
    (#""share":\#(letters(65))"#, #""share" has 65 bytes; it takes a string of 1 to 64 bytes"#),
    (
      #""max_bytes":"1k""#,
      #""max_bytes" was "1k"; it takes a whole number of bytes from 1 upwards"#
    ),
    (
      #""timeout_ms":0"#,
      #""timeout_ms" was 0; it takes a whole number of milliseconds from 1 to 86400000"#
    ),
    (#""ttl":"1d""#, #""ttl" was "1d"; it takes a whole number of seconds from 0 to 315360000"#),
    (#""quality":101"#, #""quality" was 101; it takes a whole number from 1 to 100"#),
    (
      #""store":"nowhere""#,
      #""store" was "nowhere"; it takes "all", "memory", "disk", "fleet", "local" or "none""#
    ),
    (#""tags":["a",""]"#, #""tags[1]" is empty; it takes a string of 1 to 64 bytes"#),
    (#""tags":"a""#, #""tags" was "a"; it takes an array of at most 16 strings of 1 to 64 bytes"#),
  ])
  func `a wrong value is told what is right`(field: String, said: String) {
    #expect(message(#"{"cmd":"fetch","url":"u",\#(field)}"#) == said)
  }

  @Test(arguments: [
    (#"{"cmd":"ftech","url":"u"}"#, #"there is no command "ftech": did you mean "fetch"?"#),
    (#"{"cmd":"fetch","ulr":"u"}"#, #""fetch" has no field "ulr": did you mean "url"?"#),
    (
      #"{"cmd":"fetch","url":"u","priority":"hihg"}"#,
      #""priority" was "hihg": did you mean "high"?"#
    ),
    (#"{"cmd":"fetch","url":"u","format":"jpgg"}"#, #""format" was "jpgg": did you mean "jpeg"?"#),
    (
      #"{"cmd":"fetch","url":"u","resize":{"with":7}}"#,
      #""resize" has no field "with": did you mean "width"?"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"width":7,"fit":"covr"}}"#,
      #""resize.fit" was "covr": did you mean "cover"?"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"width":7,"height":7,"fit":"cover","crop":{"x":0.5,"left":0}}}"#,
      #""resize.crop" has no field "left"; it has x, y, and ignores x_…"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"area":{"x":0.5,"y":0,"width":2,"height":1}}}"#,
      #""resize.area.width" was 2; it takes a fraction above 0.0, up to 1.0, since one of the four has a point or an exponent"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"area":{"x":0,"y":0,"width":9223372036854775808,"height":1}}}"#,
      #""resize.area.width" was 9.223372036854776e+18; it takes a whole number of pixels from 1 to 65535"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"area":{"x":-9223372036854775809,"y":0,"width":1,"height":1}}}"#,
      #""resize.area.x" was -9.223372036854776e+18; it takes a whole number of pixels from 0 to 65535"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"area":{"x":0,"y":0,"width":1e3,"height":1}}}"#,
      #""resize.area.width" was 1000.0; it takes a fraction above 0.0, up to 1.0, since one of the four has a point or an exponent"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"area":{"width":3,"heigth":4}}}"#,
      #""resize.area" has no field "heigth": did you mean "height"?"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"scale":9}}"#,
      #""resize.scale" was 9; it takes a number above 0, up to 8"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"scale":2,"width":9}}"#,
      #""resize.scale" stands for "width" and "height", which are there"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"rotate":45}}"#,
      #""resize.rotate" was 45; it takes 0, 90, 180 or 270"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"padding":{"top":1,"right":1,"bottom":1}}}"#,
      #""resize.padding" has no "left"; it takes an object with "top", "right", "bottom", "left""#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"padding":{"top":1,"right":1,"bottom":1,"left":10001}}}"#,
      #""resize.padding.left" was 10001; it takes a whole number of pixels up to 10000"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"area":{"x":0,"width":1,"height":1}}}"#,
      #""resize.area" has no "y"; it takes an object with "x", "y", "width" and "height""#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"width":7,"height":7,"fit":"cover","crop":{}}}"#,
      #""resize.crop" has no "x"; it takes "centre", "attention", or an object with "x" and "y""#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"area":{"x":null,"y":0,"width":1,"height":1}}}"#,
      #""resize.area.x" was null; it takes a number"#
    ),
    (
      #"{"cmd":"fetch","url":"u","resize":{"width":7,"background":"red"}}"#,
      #""resize.background" was "red"; it takes a colour, #rrggbb or #rrggbbaa"#
    ),
    (#"{"cmd":"purge","tier":"disc"}"#, #""tier" was "disc": did you mean "disk"?"#),
    (#"{"cmd":"purge","tags":"t"}"#, #""purge" has no field "tags": did you mean "tag"?"#),
    (
      #"{"cmd":"subscribe","events":["cache","jbos"]}"#,
      #""events[1]" was "jbos": did you mean "jobs"?"#
    ),
  ])
  func `a near miss is answered with the word that was meant`(line: String, said: String) {
    #expect(message(line) == said)
  }

  @Test func `all names are listed only where none is near`() {
    #expect(message(#"{"cmd":"ping","verbose":true}"#).hasSuffix("it has cmd, id, and ignores x_…"))
    #expect(message(#"{"cmd":"get"}"#).hasSuffix(#""ping", "config" or "reload""#))
    #expect(!message(#"{"cmd":"fetch","hedaers":{}}"#).contains("deliver"))
  }

  @Test(arguments: [
    ("hello", #"{"cmd":"hello"}"#), ("  PING ", #"{"cmd":"ping"}"#), ("stast", #"{"cmd":"stats"}"#),
    ("help", #"{"cmd":"hello"}"#), ("GET / HTTP/1.1", #"{"cmd":"hello"}"#),
    ("fetch http://h/a", #"{"cmd":"fetch","url":"https://example.org/a.jpg"}"#),
    ("https://me:secret@h/a", #"{"cmd":"fetch","url":"https://example.org/a.jpg"}"#),
    ("purge", #"{"cmd":"purge","url":"https://example.org/a.jpg"}"#),
    (String(repeating: "x", count: 60_000), #"{"cmd":"hello"}"#),
  ])
  func `plain words are answered with the request that was meant`(line: String, request: String) {
    #expect(refusal(line)?.code == .badJSON)
    #expect(message(line) == "the line is not JSON: a request is a line such as \(request)")
  }

  @Test(arguments: Request.Command.allCases)
  func `the example of a command is a request for it`(_ command: Request.Command) {
    #expect(request(command.example)?.command == command)
  }

  @Test(arguments: ["{", "\u{1}", "'hello'", "-", "\"hello", "{'cmd':'hello'}"])
  func `what is nearly JSON is told where it stops being that`(line: String) {
    #expect(message(line).hasPrefix("not JSON at byte "))
  }

  @Test(arguments: [
    #"{"cmd":"fetch","url":["http://me:secret@h/a"]}"#,
    #"{"cmd":"fetch","http://me:secret@h/a":1}"#,
    #"{"cmd":"http://me:secret@h/a"}"#, #""http://me:secret@h/a""#, "http://me:secret@h/a",
    #"{"cmd":"fetch","url":"u","tags":"http://me:secret@h/a"}"#,
    #"{"cmd":"fetch","url":"u","tags":["http:\/\/me:secret@\#(letters(80).dropFirst().dropLast())"]}"#,
    #"{"cmd":"fetch","url":"u","receipt":"http://me:secret\#(letters(100).dropFirst().dropLast())@h"}"#,
    #"{"cmd":"fetch","url":"u","headers":{"http://me:secret@h":"a"}}"#,
    #"{"cmd":"fetch","url":"u","headers":{"Authorization":"secret\n"}}"#,
    #"{"cmd":"fetch","url":"u","headers":{"Authorization":["secret"]}}"#,
    #"{"cmd":"fetch","url":"u","resize":{"http://me:secret@h":1}}"#,
    #"{"cmd":"fetch","url":"u","resize":{"fit":"http://me:secret@h"}}"#,
    #"{"cmd":"purge","tier":"me:secret@h"}"#,
  ])
  func `no refusal repeats a password`(line: String) throws {
    let error = try #require(refusal(line))
    #expect(!error.message.contains("secret"))
    #expect(!error.details.contains { "\($0.value)".contains("secret") })
  }

  @Test func `an excerpt is cut between characters`() {
    for start in 0..<4 {
      let text = String(repeating: "x", count: start) + String(repeating: "🖼️", count: 40)
      let excerpt = Excerpt.of(text)
      #expect(excerpt.hasSuffix("…") && excerpt.utf8.count <= 80 + 3)
      #expect(text.unicodeScalars.starts(with: excerpt.unicodeScalars.dropLast()))
    }
    #expect(Excerpt.of(Array("näher".utf8).span) == "näher")
  }
}
