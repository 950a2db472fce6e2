import Testing

@testable import ImgdGateway

struct HostListTests {
  private func contains(_ names: [String], _ url: String) throws -> Bool {
    HostList(names).contains(try #require(URLHost(of: url)))
  }

  @Test(arguments: [
    "http://example.org/", "http://EXAMPLE.org:8080/", "http://a.example.org/",
    "http://example.org./",
    "http://a.b.c.example.org/", "http://[::1]/", "http://[0::1]/", "http://192.0.2.1/",
  ])
  func `a name stands for itself and those below it`(url: String) throws {
    #expect(try contains(["other.example", "Example.ORG", "[::0:1]", "192.0.2.1"], url))
  }

  @Test(arguments: [
    "http://badexample.org/", "http://org/", "http://example.org.evil.example/",
    "http://example.or/",
    "http://example.orgg/", "http://[::2]/", "http://1.192.0.2.1/", "http://192.0.2.11/",
    "http://1/",
    "http://0.2.1/", "http://3221225985/",
  ])
  func `other hosts are not in the list`(url: String) throws {
    #expect(try !contains(["example.org", "[::1]", "192.0.2.1", "2.1"], url))
  }

  @Test func `an asterisk stands for all, and no name for none`() throws {
    #expect(try contains(["*"], "http://anything.example/"))
    #expect(try !contains([], "http://anything.example/"))
  }

  @Test(arguments: [
    "example.org:80", "http://example.org", "*.example.org", ".example.org", "a b", "::1", "",
  ])
  func `what is no host is not taken`(name: String) throws {
    #expect(!HostList.takes(name))
    #expect(try !contains([name], "http://example.org/"))
  }
}
