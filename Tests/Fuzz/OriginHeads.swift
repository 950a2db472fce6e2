@testable import ImgdCache
@testable import ImgdTransfer

extension FuzzTarget {
  /// The head of an origin's answer, in the lines in which curl hands it on.
  static let originHeads = FuzzTarget(
    "origin-heads",
    of: [
      "ImgdTransfer/Exchange/HeadCollector.swift", "ImgdTransfer/Engine/RetryPolicy.swift",
      "ImgdTransfer/Signing/ServiceRefusal.swift", "ImgdTransfer/Signing/BucketPlace.swift",
    ]
  ) { bytes in
    var choices = Choices(bytes)
    let isPart = choices.flag()
    var collector = HeadCollector()
    var isOver = false
    while !choices.isAtEnd {
      let line = choices.line() + [0x0A]
      let ends = collector.add(line.span)
      expect(!ends || !isOver, "a head ends once")
      isOver = isOver || ends
    }
    expect(collector.isComplete == isOver, "and is complete then")
    expect(collector.bytes <= bytes.count + 1, "no more has come than was sent")
    checkHead(collector.head)
    if let location = collector.location {
      expect(location.utf8.allSatisfy { $0 < 0x80 }, "a location is ASCII")
      let base = try? TransferURL("http://a.example/b?c")
      if let target = try? base?.following(location) { expect(!target.host.isEmpty, "and leads to a host") }
    }
    if let delay = RetryAfter.delay(collector.first("retry-after")) {
      expect(delay >= .zero, "nobody waits for the past")
    }
    let refusal = ServiceRefusal(head: collector, body: bytes, signedAt: 1_700_000_000)
    expect(!refusal.remark.utf8.contains { $0 < 0x20 || $0 >= 0x80 }, "a remark is one printable line")
    if isPart {
      let whole = collector.continuing(collector, total: 7)
      expect(whole.list("content-length") == ["7"], "a continued body has the length of the whole")
      expect(whole.first("content-range") == nil, "and is no part")
    }
  }

  private static func checkHead(_ head: ResponseHead) {
    let names = head.headers.map(\.name)
    expect(Set(names).count == names.count, "each name is there once")
    expect(names.allSatisfy { !$0.isEmpty && $0 == $0.lowercased() }, "in lower case")
    let list: HeaderList = head.headers.map { ($0.name, $0.value) }
    let kept = StoredHeaders(StoredHeaders.fitting(StoredHeaders.storable(list)))
    expect(kept.packed.count <= StoredHeaders.mostKept + 8, "what is kept fits")
    expect((0...999).contains(head.status), "a status has three digits")
  }
}
