import Testing

@testable import ImgdProgram
@testable import ImgdDaemon

/// Reads with a format, and gives the complaint where it refuses.
private func read<Value>(_ format: ValueFormat<Value>, _ text: String) -> Result<Value, WrongValue> {
  Result { () throws(WrongValue) in try format.parse(text) }
}

private func complaint<Value>(_ format: ValueFormat<Value>, _ text: String) -> String? {
  guard case .failure(let wrong) = read(format, text) else { return nil }
  return wrong.complaint
}

struct DaemonFormatTests {
  @Test(arguments: [("1%", 1), ("25%", 25), ("100%", 100)])
  func `percentages carry their sign`(text: String, percent: Int) throws {
    #expect(try read(ValueFormat<Int>.percentage(1...100), text).get() == percent)
    #expect(try read(.share, text).get() == .percent(percent))
    #expect(ValueFormat<Share>.share.text(.percent(percent)) == text)
  }

  @Test(arguments: [
    ("0", Share.bytes(0), "0"), ("0%", .percent(0), "0%"), ("5%", .percent(5), "5%"),
    ("100%", .percent(100), "100%"), ("2G", .bytes(2 << 30), "2G"), ("0K", .bytes(0), "0"),
  ])
  func `a reserve may be zero`(text: String, share: Share, printed: String) throws {
    #expect(try read(.reserve, text).get() == share)
    #expect(ValueFormat<Share>.reserve.text(share) == printed)
  }

  @Test(arguments: ["", "%", "-1%", "101%", "00%", "off", "-1", "5 %"])
  func `a text that is not a reserve is refused`(text: String) {
    #expect(complaint(.reserve, text) != nil)
  }

  @Test(arguments: [
    (Share.bytes(7), 100, 7), (.percent(25), 100 << 20, 25 << 20), (.percent(25), 7, 1),
    (.percent(100), Int.max, Int.max), (.percent(50), 0, 0), (.percent(33), 1000, 330),
  ])
  func `a share is a part of the whole`(share: Share, whole: Int, bytes: Int) {
    #expect(share.bytes(of: whole) == bytes)
  }

  @Test(arguments: [
    "10.0.0.0/8", "0.0.0.0/0", "192.168.1.1/32", "fd00::/8", "::/0", "::1/128",
    "::ffff:10.0.0.1/96",
  ])
  func `networks have an address and a prefix`(text: String) throws {
    #expect(try read(ValueFormat<[String]>.networks, text).get() == [text])
  }

  @Test(arguments: [
    "10.0.0.0", "10.0.0.0/", "/8", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/8/8", "10.0.0.256/8",
    "fd00::/129", "fd00::/-1", "example.org/8", "fd00::%eth0/8", "10.0.0.0/ 8", "[::1]/128",
    "10.0.0.0/99999999999999999999",
  ])
  func `a text that is not a network is refused`(text: String) {
    #expect(complaint(.networks, text)?.contains("not a network: write address/prefix") == true)
  }

  @Test func `lists are separated by blanks and commas`() throws {
    let networks = try read(ValueFormat<[String]>.networks, "10.0.0.0/8, fd00::/8\t::1/128").get()
    #expect(networks == ["10.0.0.0/8", "fd00::/8", "::1/128"])
    let words = try read(ValueFormat<AcceptedType>.words, "png,jpeg png").get()
    #expect(words == [.png, .jpeg])
  }

  @Test func `the wrong word of a list is named`() {
    #expect(
      complaint(ValueFormat<AcceptedType>.words, "png jpge")
        == "contains 'jpge': did you mean jpeg?")
    #expect(
      complaint(.networks, "::1/128 lan")
        == "contains 'lan', which is not a network: write address/prefix, "
        + "such as 10.0.0.0/8 or fd00::/8")
  }

  @Test(arguments: [
    ("none", nil), ("http://proxy:3128", "http://proxy:3128"),
    ("http://10.0.0.1:80", "http://10.0.0.1:80"), ("http://[::1]:8080", "http://[::1]:8080"),
    ("socks5h://127.0.0.1:1080", "socks5h://127.0.0.1:1080"),
  ])
  func `a proxy is a host and a port`(text: String, proxy: String?) throws {
    #expect(try read(ValueFormat<String?>.proxy, text).get() == proxy)
    #expect(ValueFormat<String?>.proxy.text(proxy) == text)
  }

  @Test(arguments: [
    "proxy:3128", "http://proxy", "http://:80", "http://proxy:", "http://proxy:0",
    "http://proxy:65536", "https://proxy:1", "http://user@proxy:80", "http://proxy:80/", "http://",
    "http:", "socks5://proxy:1080", "socks5h://proxy", "http://[::1:80", "http://[]:80", "http://pro xy:80", "None",
  ])
  func `a text that is not a proxy is refused`(text: String) {
    #expect(complaint(.proxy, text) == "is not a proxy: write none, http://host:port or socks5h://host:port")
  }

  @Test func `header values are printable ASCII`() throws {
    #expect(try read(.headerValue, "imgd/0.1 (+https://example.org)").get().isEmpty == false)
    #expect(complaint(.headerValue, "a\r\nHost: b")?.hasPrefix("is not valid in a header") == true)
    #expect(complaint(.headerValue, "ü")?.hasPrefix("is not valid in a header") == true)
    #expect(complaint(.headerValue, String(repeating: "a", count: 257))?.contains("256") == true)
  }

  @Test func `an unknown word is answered with the valid ones`() {
    #expect(complaint(ValueFormat<Order>.word, "Fifo") == "is not valid: write fifo or lifo")
    #expect(
      complaint(ValueFormat<PrivateAddresses>.word, "")
        == "is not valid: write direct, deny or allow")
  }

  @Test(arguments: [
    ("many", "is neither auto nor a number: write auto, or 1 to 256"),
    ("0", "is out of range: write a number from 1 to 256"),
    ("257", "is out of range: write a number from 1 to 256"),
  ])
  func `a wrong number of decoders is answered with the right ones`(
    text: String, sentence: String
  ) {
    #expect(complaint(.automaticCount(1...256), text) == sentence)
  }

  @Test func `header names are kept in lower case`() throws {
    let names = try read(ValueFormat<[String]>.fieldNames, "X-Who, x-sesame\tKEY").get()
    #expect(names == ["x-who", "x-sesame", "key"])
    #expect(try read(ValueFormat<[String]>.fieldNames, "").get() == [])
    #expect(complaint(.fieldNames, "X-Who: 1")?.contains("not a header name") == true)
  }
}
