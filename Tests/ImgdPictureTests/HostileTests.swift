import ImgdPicture
import ImgdTestSupport
import Testing

/// None of these may trap; the result matters only where it is stated.
struct HostileTests {
  @Test(arguments: SamplePictures.all)
  func `every picture cut at every byte is answered`(_ sample: SamplePictures.Sample) {
    for length in 0..<sample.bytes.count {
      let answer = verdict(Array(sample.bytes.prefix(length)))
      #expect(!answer.isEmpty)
    }
  }

  @Test(arguments: 0..<8 as Range<UInt64>)
  func `2,500 mutations are answered`(_ seed: UInt64) {
    var noise = Noise(seed: seed)
    for round in 0..<2_500 {
      var bytes = SamplePictures.all[round % SamplePictures.all.count].bytes
      for _ in 0..<Int.random(in: 1...6, using: &noise) { mutate(&bytes, &noise) }
      let answer = try? PictureProbe.recognise(bytes.span)
      #expect(answer.map { $0.width > 0 && $0.height > 0 && $0.frames > 0 } ?? true)
      #expect(answer.map { (1...8).contains($0.orientation) } ?? true)
    }
  }

  /// Most changes are made in the first bytes, the headers.
  private func mutate(_ bytes: inout [UInt8], _ noise: inout Noise) {
    guard bytes.count > 1 else { return }
    let reach = Bool.random(using: &noise) ? min(bytes.count, 160) : bytes.count
    let place = Int.random(in: 0..<reach, using: &noise)
    switch Int.random(in: 0..<6, using: &noise) {
    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &noise)
    case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &noise) ?? 0
    case 2: bytes.removeSubrange(place..<min(place + 4, bytes.count))
    case 3: bytes.insert(contentsOf: noise.bytes(4), at: place)
    case 4: for index in place..<min(place + 4, bytes.count) { bytes[index] = 0xFF }
    default: bytes.removeLast(min(bytes.count - 1, place / 4))
    }
  }

  @Test(arguments: SamplePictures.all)
  func `noise after every signature is answered`(_ sample: SamplePictures.Sample) {
    var noise = Noise(seed: UInt64(sample.bytes.count))
    for length in 2..<64 {
      #expect(!verdict(Array(sample.bytes.prefix(length)) + noise.bytes(400)).isEmpty)
    }
  }

  @Test(arguments: 0...255 as ClosedRange<UInt8>)
  func `one byte repeated is no picture`(_ byte: UInt8) {
    #expect((try? PictureProbe.recognise([UInt8](repeating: byte, count: 5_000).span)) == nil)
  }

  @Test(
    arguments: [
      [0, 0, 0, 2], [0, 0, 0, 7], [0, 0, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF],
    ] as [[UInt8]])
  func `boxes that lie about their length end the walk`(_ size: [UInt8]) {
    let type = TestPicture.fileType(["avif"])
    let lengths: [[UInt8]] = [[], [0xFF, 0xFF], [0x7F, 0xFF], [0, 0]]
    for tail in lengths.map({ $0 + [UInt8](repeating: $0.last ?? 0, count: 6) }) {
      let box = size + Array("meta".utf8) + tail
      #expect(verdict(type + box) == "HEIF that states no size for its primary item")
    }
  }

  @Test func `a long length beyond its parent is not read`() {
    let child = [0, 0, 0, 1] + Array("free".utf8)
    let heif =
      TestPicture.fileType(["avif"]) + TestPicture.fullBox("meta", child)
      + TestPicture.box("mdat", [UInt8](repeating: 0, count: 8))
    #expect(verdict(heif) == "HEIF that states no size for its primary item")
  }

  @Test func `boxes nested a thousand deep are not entered`() {
    let deep = (0..<1_000).reduce([UInt8]()) { inner, _ in TestPicture.fullBox("meta", inner) }
    #expect(
      verdict(TestPicture.fileType(["heic"]) + deep)
        == "HEIF that states no size for its primary item")
  }

  @Test func `counts that are too large end with their box`() {
    let far: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
    let size = TestPicture.fullBox("ispe", [0, 0, 0, 9, 0, 0, 0, 8])
    for entry in [[0, 7, 0xFF], [0, 1, 0xFF, 0xFF, 0], [0, 1, 0xFF, 0x81]] as [[UInt8]] {
      let properties = TestPicture.box("ipco", size) + TestPicture.fullBox("ipma", far + entry)
      let meta =
        TestPicture.fullBox("pitm", [0, 1]) + TestPicture.fullBox("iinf", [0xFF, 0xFF])
        + TestPicture.box("iprp", properties)
      let heif = TestPicture.fileType(["avif"]) + TestPicture.fullBox("meta", meta)
      #expect(!verdict(heif).isEmpty)
    }
  }

  @Test func `associations beyond the count or the box are ignored`() {
    let size = TestPicture.box("ipco", TestPicture.fullBox("ispe", [0, 0, 0, 9, 0, 0, 0, 8]))
    let tie: [UInt8] = [0, 1, 1, 1]
    func answer(count: UInt8, inside: [UInt8], behind: [UInt8]) -> String {
      let table = TestPicture.fullBox("ipma", [0, 0, 0, count] + inside)
      let properties = TestPicture.box("iprp", size + table + behind)
      let meta = TestPicture.fullBox("meta", TestPicture.fullBox("pitm", [0, 1]) + properties)
      return verdict(TestPicture.fileType(["avif"]) + meta)
    }
    let reason = "HEIF that states no size for its primary item"
    #expect(answer(count: 1, inside: tie, behind: []) == line(.avif, 9, 8))
    #expect(answer(count: 0, inside: tie, behind: []) == reason)
    #expect(answer(count: 9, inside: [0, 2, 0], behind: tie) == reason)
  }

  @Test func `a hundred thousand properties tied to one item are read once`() {
    let properties = [[UInt8]](
      repeating: TestPicture.box("irot", [1]), count: 100_000
    ).joined()
    let ties = TestPicture.fullBox(
      "ipma", [0, 0, 0, 1, 0, 1, 255] + [UInt8](repeating: 0x7F, count: 255))
    let meta =
      TestPicture.fullBox("pitm", [0, 1])
      + TestPicture.box("iprp", TestPicture.box("ipco", Array(properties)) + ties)
    let heif = TestPicture.fileType(["avif"]) + TestPicture.fullBox("meta", meta)
    #expect(verdict(heif) == "HEIF that states no size for its primary item")
  }
}
