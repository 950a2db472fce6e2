import Testing

@testable import ImgdSystem

struct PressureTextTests {
  @Test(arguments: [
    ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"),
    ("Zm9vYmE=", "fooba"), ("Zm9vYmFy", "foobar"),
    ("c29tZSAyMDAwMDAgMjAwMDAwMAA=", "some 200000 2000000\0"),
    ("c29tZSAxNTAwMDAgMTAwMDAwMAA=", "some 150000 1000000\0"),
  ])
  func `Base64 is decoded as the service manager writes it`(_ text: String, _ meant: String) {
    #expect(Base64Decoder.bytes(text) == Array(meant.utf8))
  }

  @Test func `Base64 of every byte is decoded`() throws {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    for byte in UInt8.min...UInt8.max {
      let text = "\(letters[Int(byte >> 2)])\(letters[Int(byte & 3) << 4])=="
      #expect(Base64Decoder.bytes(text) == [byte])
    }
    let whole = "AAECAwQFBgcICQoLDA0ODw=="
    #expect(Base64Decoder.bytes(whole) == Array(0...15))
    #expect(Base64Decoder.bytes("+/+/") == [0xfb, 0xff, 0xbf])
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zm9", "=", "====", "Z===", "Zg==Zg==", "Z=g=", "Zm9v\n", " m9v", "Zm-v",
    "Zm_v", "Zh==", "Zm9=", "Zm8=Zm8=", "ZZ\u{e9}", "%%%%",
  ])
  func `a text that is not Base64 is refused`(_ text: String) {
    #expect(Base64Decoder.bytes(text) == nil)
  }

  @Test func `stalls are read as the kernel writes them`() throws {
    let text = """
      some avg10=12.34 avg60=5.00 avg300=0.01 total=123456789
      full avg10=98.76 avg60=4.00 avg300=0.00 total=987654321

      """
    let stalls = try #require(Stalls(text))
    #expect(stalls.recent == 1234 && stalls.total == 123_456_789 && stalls.isPressure)
    for (recent, isPressure) in [
      ("0.00", false), ("0.99", false), ("1.00", true), ("100.00", true),
    ] {
      let text = PressureFixture.stalls(7, recent: recent)
      #expect(Stalls(text)?.isPressure == isPressure)
    }
    // A number that is cut short is a smaller one, and a missing number is noticed.
    let line = Array("some avg10=12.34 avg60=5.00 avg300=0.01 total=1".utf8)
    for end in line.indices {
      #expect(Stalls(String(decoding: line[..<end], as: UTF8.self)) == nil)
    }
  }

  @Test(arguments: [
    "", "\n\n", "full avg10=0.00 total=1", "some", "some total=1", "some avg10=0.00",
    "some avg10= total=", "some avg10=1 total=1",
    "some avg10=0.0x total=1", "some avg10=-1.00 total=1", "some avg10=0.00 total=-1",
    "some avg10=0.00 total=99999999999999999999999999",
    "some avg10=9999999999999999999999.99 total=1", "Operation not supported",
  ])
  func `a text without stalls is refused`(_ text: String) {
    #expect(Stalls(text) == nil)
  }

  @Test func `the own group is found among many`() {
    #expect(CgroupPath.own(in: "0::/\n") == "/")
    #expect(CgroupPath.own(in: "9:name=systemd:/a\n0::/b.slice/c d\n1:cpu:/e") == "/b.slice/c d")
    for text in ["", "9:name=systemd:/a", "0::", "0:x:/a", "0::/../a", "0::/a/..", "10::/a"] {
      #expect(CgroupPath.own(in: text) == nil)
    }
  }

  @Test(arguments: [
    ("31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw", "/sys/fs/cgroup/a/b"),
    ("31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/sys/fs/cgroup/a/b"),
    ("31 23 0:28 / /c rw shared:4 master:2 - cgroup2 none rw", "/c/a/b"),
    ("31 23 0:28 /a /c rw - cgroup2 none rw", "/c/b"),
    ("31 23 0:28 /a/b /c rw - cgroup2 none rw", "/c"),
    ("31 23 0:28 / /with\\040blank\\134 rw - cgroup2 none rw", "/with blank\\/a/b"),
    (
      "1 2 0:1 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n2 1 0:2 / /sys/fs/cgroup/memory rw - cgroup c rw\n"
        + "3 1 0:3 / /sys/fs/cgroup/unified rw - cgroup2 c rw", "/sys/fs/cgroup/unified/a/b"
    ),
    ("31 23 0:28 /x /no rw - cgroup2 n rw\n31 23 0:28 / /yes rw - cgroup2 n rw", "/yes/a/b"),
  ])
  func `the directory of a group is found`(_ mounts: String, _ directory: String) {
    #expect(CgroupPath.directory(of: "/a/b", in: mounts) == directory)
  }

  @Test(arguments: [
    "", "\n", "-", "31 23 0:28 / /c rw -", "31 23 0:28 / /c rw cgroup2", "- cgroup2",
    "31 23 0:28 /a/bc /c rw - cgroup2 n rw", "31 23 0:28 /a/b/c /c rw - cgroup2 n rw",
    "31 23 0:28 /b /c rw - cgroup2 n rw", "31 23 0:28 / /c rw - cgroup n rw",
    "1 2 3 / /cgroup2 - xfs cgroup2 rw",
  ])
  func `a group without a mounted directory has none`(_ mounts: String) {
    #expect(CgroupPath.directory(of: "/a/b", in: mounts) == nil)
  }

  @Test func `a list of mounts that is cut anywhere is read`() {
    let line = Array("31 23 0:28 /a\\040 /c\\1 rw shared:1 - cgroup2 cgroup2 rw".utf8)
    for end in line.indices {
      _ = CgroupPath.directory(of: "/a /b", in: String(decoding: line[..<end], as: UTF8.self))
    }
    #expect(CgroupPath.directory(of: "/", in: "1 2 0:3 / /c rw - cgroup2 n rw") == "/c")
  }

  @Test func `more than thirty reports within a minute are a flood`() {
    var steady = EventRateLimit()
    var now = Instant(nanoseconds: 0)
    for _ in 0..<100 {
      let isFlood = steady.isExceeded(at: now)
      #expect(!isFlood)
      now = now + .seconds(2)
    }
    var fast = EventRateLimit()
    let verdicts = (0..<32).map { fast.isExceeded(at: Instant(nanoseconds: $0)) }
    #expect(verdicts.firstIndex(of: true) == EventRateLimit.limit)
  }
}
