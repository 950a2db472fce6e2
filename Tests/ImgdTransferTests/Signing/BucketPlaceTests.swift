import ImgdText
import Testing

@testable import ImgdTransfer

struct BucketPlaceTests {
  private func url(_ key: String, at place: BucketPlace) throws -> String {
    try place.url(of: ObjectURL("s3://\(place.bucket)/\(key)")).text
  }

  @Test(arguments: [
    ("pics", nil, "us-east-1", "https://pics.s3.us-east-1.amazonaws.com/a"),
    ("pics", nil, "eu-central-1", "https://pics.s3.eu-central-1.amazonaws.com/a"),
    ("pics", nil, "cn-north-1", "https://pics.s3.cn-north-1.amazonaws.com.cn/a"),
    ("my.pics", nil, "eu-west-1", "https://s3.eu-west-1.amazonaws.com/my.pics/a"),
    ("pics", "http://127.0.0.1:9000", "us-east-1", "http://127.0.0.1:9000/pics/a"),
    ("my.pics", "https://Minio.example/", "x", "https://minio.example/my.pics/a"),
    ("pics", "https://[::1]:443", "x", "https://[::1]/pics/a"),
  ])
  func `an object has a URL at its bucket's place`(
    bucket: String, endpoint: String?, region: String, expected: String
  ) throws {
    let place = BucketPlace(bucket: bucket, endpoint: endpoint.flatMap { BucketEndpoint($0) }, region: region)
    #expect(try url("a", at: place) == expected)
    #expect(try TransferURL(expected).host == place.host)
  }

  @Test func `a key's dots and slashes are kept`() throws {
    let place = BucketPlace(bucket: "pics", endpoint: BucketEndpoint("http://h"))
    #expect(try url("/a/../b/./c%2F%2e", at: place) == "http://h/pics//a/../b/./c/.")
    #expect(try url("a?versionId=x+y", at: place) == "http://h/pics/a?versionId=x%2By")
  }

  @Test(arguments: ["", "minio:9000", "http://h/path", "http://h?x", "ftp://h", "s3://h", "http://me:secret@h"])
  func `what is no endpoint is refused`(text: String) { #expect(BucketEndpoint(text) == nil) }

  @Test(arguments: ["", "eu/../", "EU-West-1", "evil.example", String(repeating: "a", count: 33)])
  func `what is no region is refused`(text: String) { #expect(!BucketPlace.isRegion(text)) }

  // MARK: Moves

  private func head(_ status: Int, region: String? = nil, location: String? = nil) -> HeadCollector {
    var head = HeadCollector()
    let lines =
      ["HTTP/1.1 \(status) Moved"] + (region.map { ["x-amz-bucket-region: \($0)"] } ?? [])
      + (location.map { ["Location: \($0)"] } ?? []) + [""]
    for line in lines { _ = head.add(Array("\(line)\r\n".utf8).span) }
    return head
  }

  @Test(arguments: [301, 400])
  func `another region is taken up`(status: Int) throws {
    let place = BucketPlace(bucket: "pics")
    let moved = try #require(place.moved(by: head(status, region: "eu-west-1")))
    #expect(moved.region == "eu-west-1")
    #expect(moved.isLasting)
    #expect(try url("a", at: moved) == "https://pics.s3.eu-west-1.amazonaws.com/a")
    #expect(moved.moved(by: head(status, region: "eu-west-1")) == nil)
  }

  @Test(arguments: [
    (200, "eu-west-1"), (302, "eu-west-1"), (403, "eu-west-1"), (404, "eu-west-1"),
    (301, "x.evil.example/"), (301, "EU"), (400, ""), (301, nil),
  ])
  func `other answers name no region`(status: Int, region: String?) throws {
    #expect(BucketPlace(bucket: "pics").moved(by: head(status, region: region)) == nil)
  }

  @Test(arguments: [
    ("https://pics.s3-us-west-2.amazonaws.com/a", "us-west-2"),
    ("https://pics.s3.eu-west-1.amazonaws.com/other", "eu-west-1"),
    ("https://pics.s3.amazonaws.com/a", "us-east-1"),
  ])
  func `AWS may name another of its hosts for the bucket`(location: String, region: String) throws {
    let place = BucketPlace(bucket: "pics", region: "ap-south-1")
    let moved = try #require(place.moved(by: head(307, location: location)))
    #expect(moved.region == region)
    #expect(!moved.isLasting)
    let host = try TransferURL(location).host
    #expect(try url("a", at: moved) == "https://\(host)/a")
    #expect(moved.moved(by: head(307, location: location)) == nil)
  }

  @Test(arguments: [
    "https://evil.example/a", "http://pics.s3-us-west-2.amazonaws.com/a",
    "https://pics.s3-us-west-2.amazonaws.com:8443/a", "https://other.s3-us-west-2.amazonaws.com/a",
    "https://pics.s3-us-west-2.amazonaws.com.evil.example/a", "https://pics.s3evil.amazonaws.com/a",
    "https://pics.s3.x.execute-api.us-east-1.amazonaws.com/a", "https://s3.amazonaws.com/pics/a", "/a",
    "https://pics.s3.us-west-2.amazonaws.com.cn/a",
  ])
  func `no other host is the bucket's`(location: String) throws {
    #expect(BucketPlace(bucket: "pics").moved(by: head(307, location: location)) == nil)
    let local = BucketPlace(bucket: "pics", endpoint: BucketEndpoint("https://evil.example"))
    #expect(local.moved(by: head(307, location: location)) == nil)
  }
}
