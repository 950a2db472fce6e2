import ImgdText
import Testing

struct ObjectURLTests {
  @Test(arguments: [
    ("s3://bucket/key", "s3://bucket/key"), ("S3://bucket/Key.PNG#part", "s3://bucket/Key.PNG"),
    ("s3://my-bucket.2/a/b c+d(é)~%7E", "s3://my-bucket.2/a/b%20c%2Bd%28%C3%A9%29~~"),
    ("s3://bucket//a/../b/./%2e", "s3://bucket//a/../b/./."), ("s3://bucket/a%2Fb", "s3://bucket/a/b"),
    ("s3://bucket/a%252Fb", "s3://bucket/a%252Fb"), ("s3://bucket/%3f%23", "s3://bucket/%3F%23"),
    ("s3://bucket/a?versionId=3/L4&x", "s3://bucket/a?versionId=3%2FL4&x"),
    ("s3://bucket/a?", "s3://bucket/a"), ("s3://bucket/a?&x=1&&y=", "s3://bucket/a?x=1&y="),
    ("s3://bucket/a?b=c?d=é+", "s3://bucket/a?b=c%3Fd%3D%C3%A9%2B"),
  ])
  func `an object's URL has one spelling`(text: String, spelling: String) throws {
    let url = try ObjectURL(text)
    #expect(url.text == spelling)
    #expect(try ObjectURL(spelling) == url)
  }

  @Test func `bucket, key and query are its parts`() throws {
    let url = try ObjectURL("s3://bucket/a/b?x=1")
    #expect((url.bucket, url.path, url.query) == ("bucket", "/a/b", "x=1"))
    #expect(url.target == "/a/b?x=1")
  }

  @Test(arguments: [
    ("s3:/bucket/key", "s3://bucket/key"), ("http://bucket/key", "s3://bucket/key"),
    ("s3://bucket", "names no object: write s3://bucket/key"), ("s3://bucket/", "names no object"),
    ("s3://bucket/?list-type=2", "names no object"), ("s3:///key", "3 to 63 characters, not 0"),
    ("s3://ab/key", "not 2"), ("s3://Bucket/key", "lower-case letters"),
    ("s3://user:secret@bucket/key", "lower-case letters"), ("s3://bucket:80/key", "lower-case"),
    ("s3://bücket/key", "lower-case"), ("s3://-bucket/key", "begin and end"),
    ("s3://bucket./key", "begin and end"), ("s3://buc..ket/key", "two dots"),
    ("s3://192.168.5.4/key", "looks like an address"),
    ("s3://bucket/100%", "a % at byte 15"), ("s3://bucket/a?b=%zz", "a % at byte 16"),
  ])
  func `what is no object's URL is refused with the reason`(text: String, reason: String) {
    #expect {
      try ObjectURL(text)
    } throws: { problem in
      let words = (problem as? ObjectURLProblem)?.reason ?? ""
      return words.contains(reason) && !words.contains("secret")
    }
  }

  @Test func `names of buckets are bounded`() {
    #expect(BucketName.problem(of: String(repeating: "a", count: 63)) == nil)
    #expect(BucketName.problem(of: String(repeating: "a", count: 64)) != nil)
    #expect(BucketName.problem(of: "1.2.3.a") == nil)
  }

  @Test func `every cut and every changed byte gives a stable result`() {
    let bytes = Array("s3://a.b-c/é%20+/../?x=%7E&y#z".utf8)
    for place in bytes.indices {
      answersStably(bytes[..<place])
      for byte in UInt8.min...UInt8.max {
        var changed = bytes
        changed[place] = byte
        answersStably(changed[...])
      }
    }
  }

  private func answersStably(_ bytes: ArraySlice<UInt8>) {
    guard let url = try? ObjectURL(String(decoding: bytes, as: UTF8.self)) else { return }
    #expect((try? ObjectURL(url.text)) == url)
    #expect(url.text.utf8.allSatisfy { (0x21...0x7e).contains($0) })
  }
}
