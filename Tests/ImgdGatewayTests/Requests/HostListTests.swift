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

  @Test func `a bucket is in the list by its name alone`() throws {
    let bucket = URLHost(bucket: "pics.example.org")
    #expect(try SourceURL(Array("s3://pics.example.org/a".utf8)).host == bucket)
    #expect(HostList(["s3://pics.example.org"]).contains(bucket))
    // It opens with credentials of the machine.
    let others = ["*", "pics.example.org", "example.org", "s3://example.org", "s3://other.example.org"]
    #expect(!HostList(others).contains(bucket))
    #expect(try !contains(["s3://example.org"], "http://example.org/"))
  }

  @Test(arguments: [
    "s3://", "s3://Pics", "s3://pics/", "s3://*", "example.org:80", "http://example.org", "*.example.org",
    ".example.org", "a b", "::1", "",
  ])
  func `what is no host is not taken`(name: String) throws {
    #expect(!HostList.takes(name))
    #expect(try !contains([name], "http://example.org/"))
  }
}
