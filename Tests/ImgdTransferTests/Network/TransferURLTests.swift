import Testing

@testable import ImgdTransfer

struct TransferURLTests {
  @Test(arguments: [
    ("http://Example.org/a.png", "example.org", "80"),
    ("https://example.org/a.png?x=1", "example.org", "443"),
    ("http://example.org:8080/", "example.org", "8080"),
    ("http://[::1]:81/a", "[::1]", "81"),
    ("http://0x7f000001/a", "127.0.0.1", "80"),
    ("http://2130706433/a", "127.0.0.1", "80"),
  ])
  func `a URL is divided into its parts`(
    text: String, host: String, port: String
  ) throws {
    let url = try TransferURL(text)
    #expect(url.host == host)
    #expect(url.port == port)
  }

  @Test(arguments: [
    "", "a.png", "//example.org/a", "http://", "http://user@example.org/",
    "http://user:secret@example.org/", "http://example.org:99999/", "http://exa mple.org/",
    "http://example.org/\0", "http://[::1/a", "http://[example.org]/",
  ])
  func `a malformed URL is refused`(text: String) {
    #expect { try TransferURL(text) } throws: { ($0 as? TransferFailure)?.kind == .badURL }
  }

  @Test(arguments: [
    "ftp://example.org/a", "file:///etc/passwd", "gopher://example.org/", "data://x/",
  ])
  func `a URL of another scheme is refused`(text: String) {
    #expect { try TransferURL(text) } throws: { ($0 as? TransferFailure)?.kind == .blockedScheme }
  }

  @Test(arguments: [
    ("/b.png", "http://example.org/b.png"), ("c.png", "http://example.org/dir/c.png"),
    ("../d.png", "http://example.org/d.png"), ("?q=1", "http://example.org/dir/a.png?q=1"),
    ("//other.org/e", "http://other.org/e"), ("https://other.org/f", "https://other.org/f"),
    ("http://user:secret@other.org/g", "http://other.org/g"),
    ("/with space", "http://example.org/with%20space"), ("/h#part", "http://example.org/h"),
    // A number in escapes is an address to curl, but only when it reads the URL again.
    ("//%34/x", "http://0.0.0.4/x"), ("//%31%32%37.1/x", "http://127.0.0.1/x"),
  ])
  func `a redirect is resolved against its URL`(location: String, expected: String) throws {
    #expect(try TransferURL("http://example.org/dir/a.png").following(location).text == expected)
  }

  @Test(arguments: [
    ("http://example.org/a.png", "http://example.org/b/c.png?x=1&y=/,"),
    ("http://example.org:8080/", "http://example.org:8080/a.b/~c"), ("https://[::1]:81/a", "https://[::1]:81/"),
    ("http://localhost/a", "http://localhost/b"), ("http://127.0.0.1/a", "http://127.0.0.1/b"),
  ])
  func `a neighbour is read as curl reads it`(known: String, text: String) throws {
    #expect(try #require(try TransferURL(known).neighbour(text)) == TransferURL(text))
  }

  @Test(arguments: [
    ("http://example.org/a.png", "http://example.org"), ("http://example.org/a.png", "http://example.org?x=/"),
    ("http://example.org/a.png", "http://example.org:81/"), ("http://example.org/a.png", "http://example.org@b.org/"),
    ("http://example.org/a.png", "https://example.org/"), ("http://example.org/a.png", "HTTP://example.org/"),
    ("http://example.org/a.png", "http://example.orga/"), ("http://example.org/a.png", "http://example.or/"),
    // What curl changes or refuses behind the host.
    ("http://example.org/a.png", "http://example.org/a/../b"), ("http://example.org/a.png", "http://example.org/./b"),
    ("http://example.org/a.png", "http://example.org/a#b"), ("http://example.org/a.png", "http://example.org/a b"),
    ("http://example.org/a.png", "http://example.org/%2e/b"), ("http://example.org/a.png", "http://example.org/\0"),
    ("http://example.org/a.png", "http://example.org/ä"), ("http://example.org/a.png", "http://example.org/\u{7f}"),
    // What it has changed in the first one is asked for again.
    ("http://0x7f000001/a", "http://0x7f000001/b"), ("http://0x7f000001/a", "http://127.0.0.1/b"),
    ("http://example.org?x=/", "http://example.org?x=/b"),
  ])
  func `anything else is left to curl`(known: String, text: String) throws {
    #expect(try TransferURL(known).neighbour(text) == nil)
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://example.org/"])
  func `a redirect to another scheme is refused`(location: String) throws {
    let url = try TransferURL("http://example.org/a.png")
    #expect { try url.following(location) } throws: {
      ($0 as? TransferFailure)?.kind == .blockedScheme
    }
  }

  @Test func `messages hold no secrets of a URL`() {
    #expect { try TransferURL("http://user:secret@example.org/?key=secret") } throws: {
      ($0 as? TransferFailure)?.message.contains("secret") == false
    }
  }
}
