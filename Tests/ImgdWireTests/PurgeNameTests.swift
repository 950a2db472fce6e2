import Testing

@testable import ImgdWire

/// Filters of a purge that no entry can match.
struct PurgeNameTests {
  @Test(arguments: [
    "example.org", "EXAMPLE.org", "a_b-c.1", "127.0.0.1", "[::1]", "[FE80::1]", "localhost", ".",
  ])
  func `a host is taken`(host: String) {
    #expect(PurgeRequest.problem(ofHost: host) == nil)
  }

  @Test(arguments: [
    ("127.0.0.1:9100", "127.0.0.1:9100 has a port, and a host has none: write 127.0.0.1"),
    ("[::1]:80", "[::1]:80 has a port, and a host has none: write [::1]"),
    ("::1", "::1 is an address without brackets: write [::1]"),
    ("*", "* has a *, and no host has one: leave the filter out for all hosts"),
    (
      "*.example.org",
      "*.example.org has a *, and no host has one: write example.org, "
        + "which stands for the hosts below it as well"
    ),
    (
      ".example.org",
      ".example.org begins with a dot, and no host does: write example.org, "
        + "which stands for the hosts below it as well"
    ),
    ("http://h/", "http://h/ is a URL: write its host alone, such as example.org"),
    ("h/a", "h/a is no host: write its host alone, such as example.org"),
    ("a b", "a b has characters that no host has: write it as it stands in a URL"),
    ("münchen.de", "münchen.de has characters that no host has: write it as it stands in a URL"),
  ])
  func `what no host can be is refused`(host: String, problem: String) {
    #expect(PurgeRequest.problem(ofHost: host) == problem)
  }

  @Test(arguments: [
    "h", "http", "http://", "https:/", "http://h", "http://h:80", "http://[::1]:81/a",
    "https://example.org/A*b?c=*&d=@", "http://h?*", "http://exa", "http://h:8080/",
    "https://h:80/",
    "http://h/a/..", "http://h/a?b=/../", "http://h/a%20b", "https://h:443",
    "s", "s3:/", "s3://", "s3://p", "s3://my.pics-2", "s3://pics/", "s3://pics//../.", "s3://pics/a%", "s3://pics/a%2",
    "s3://pics/a%2B", "s3://pics/%25", "s3://pics/a?", "s3://pics/a?b=c&d=%2F",
  ])
  func `a beginning of URLs is taken`(prefix: String) {
    #expect(PurgeRequest.problem(ofPrefix: prefix) == nil)
  }

  @Test(arguments: [
    ("http://*", "has a * in its host"), ("https://*.example.org/", "has a * in its host"),
    ("example.org/", "is the beginning of no URL here"), ("HTTP://h/", "in lower case"),
    ("*", "is the beginning of no URL here"), ("ftp://h/", "is the beginning of no URL here"),
    ("http://me@h/", "has a user name in it"), ("http://H/", "write the host in lower case"),
    ("https://h:443/", "has the port that https:// has by itself"),
    ("http://h:80?a", "has the port that http:// has by itself"),
    ("http://h/a b", "have as %20"), ("http://h/é", "have as %20"),
    ("http://h/a#b", "has a fragment"),
    ("s3://Pi", "no bucket has"), ("s3://*/", "begins no URL"), ("s3://pi:80", "no bucket has"),
    ("s3:/pics", "in lower"),
    ("s3://me@pics", "no bucket has"), ("s3://me@pics/", "begins no URL"), ("s3://p/", "3 to 63"),
    ("s3://pics/a b", "have as %20"), ("s3://pics/a+", "have as %20"), ("s3://pics/%2b", "have as %20"),
    ("s3://pics/%41", "have as %20"), ("s3://pics/é", "have as %20"), ("s3://pics/a#", "have as %20"),
    ("s3://pics/%zz", "begins no URL"), ("s3://pics/a?b=/", "have as %20"), ("s3://pics/a?&", "have as %20"),
    ("http://h/a/../b", "has /./ or /../ in it"), ("http://h/./", "has /./ or /../ in it"),
  ])
  func `what no URL begins with is refused`(prefix: String, words: String) {
    let problem = PurgeRequest.problem(ofPrefix: prefix)
    #expect(problem?.contains(words) == true, "\(problem ?? "taken")")
  }

  @Test(arguments: [(#""identifier":"""#, false), (#""identifier":"","url":"http://h/""#, true)])
  func `an empty identifier is no filter by itself`(fields: String, isTaken: Bool) {
    let line = Array(#"{"cmd":"purge",\#(fields)}"#.utf8)
    if case .request = RequestParser.parse(line.span).outcome {
      #expect(isTaken)
    } else {
      #expect(!isTaken)
    }
  }

  @Test func `a password is not repeated`() {
    #expect(PurgeRequest.problem(ofPrefix: "http://me:secret@h/")?.contains("secret") == false)
    #expect(PurgeRequest.problem(ofHost: "http://me:secret@h/")?.contains("secret") == false)
  }
}
