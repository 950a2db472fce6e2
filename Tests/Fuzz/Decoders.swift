@testable import ImgdDecode
@testable import ImgdPicture
@testable import ImgdSystem

extension FuzzTarget {
  /// Messages between the daemon and a decoder: nothing that a decoder sends is believed, and what is understood is
  /// understood again.
  static let decoder = FuzzTarget("decoder", of: ["ImgdDecode"], longest: 256) { bytes in
    var choices = Choices(bytes)
    let content = choices.flag() ? Payload(Array(repeating: 9, count: Int(choices.byte()) * 4)) : nil
    let kind = choices.pick([MessageKind.answer, .abilities, .order])
    let rest = choices.flag() ? Array(choices.rest) : MessageWriter(kind).bytes + choices.rest
    guard let reader = MessageReader(rest) else { return }
    switch reader.kind {
    case .abilities: checkAbilities(reader)
    case .answer: checkAnswer(reader, content)
    case .order: checkOrder(reader)
    }
  }

  private static func again(_ message: [UInt8]) -> MessageReader {
    expect(message.count <= MessageLayout.longest, "a message is not too long to be read")
    guard let reader = MessageReader(message) else { fatalError("a message begins like one") }
    return reader
  }

  private static func checkAbilities(_ reader: MessageReader) {
    guard let abilities = DecoderAbilities(reader) else { return }
    expect(DecoderAbilities.Layers.all.isSuperset(of: abilities.layers), "there are no other layers")
    expect(DecoderAbilities(again(abilities.message))?.layers == abilities.layers, "abilities survive")
    expect(DecoderAbilities(again(abilities.message))?.reads == abilities.reads, "with all formats")
  }

  private static func checkAnswer(_ reader: MessageReader, _ content: Payload?) {
    var reader = reader
    guard let serial = reader.number(UInt64.self), let answer = DecodeAnswer(reader, content: content) else { return }
    var second = again(answer.message(serial: serial))
    expect(second.number(UInt64.self) == serial, "the serial survives")
    guard let other = DecodeAnswer(second, content: content) else { fatalError("and so does the answer") }
    switch (answer, other) {
    case (.picture(let made), .picture(let same)):
      expect(made.width > 0 && made.height > 0 && made.frames > 0 && made.content.count > 0, "it has pixels")
      if made.format == nil {
        let frames = max(1, made.delays.count)
        expect(made.content.count == made.width * made.height * 4 * frames, "each pixel has four bytes")
      }
      expect(made.delays == same.delays && made.width == same.width && made.format == same.format, "the same one")
      expect(made.delays.count != 1 && made.delays.count <= MadePicture.mostDelays, "a single frame has no time")
    case (.description(let made), .description(let same)):
      expect(made == same && made.average.count == 4 && !made.thumbHash.isEmpty, "a description is whole")
    case (.failure(let made), .failure(let same)):
      expect(made.cause == same.cause, "the same cause")
      expect(!made.reason.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a reason is printable")
      expect([.damaged, .unsupported, .tooLarge, .unmade].contains(made.cause), "a decoder states no other cause")
    default: fatalError("an answer is of one kind")
    }
    for output in [Rendition.Output.pixels, .description, .file(nil, quality: nil)] {
      _ = answer.isAnswer(to: Rendition(output, frames: .all, layout: .rgba, mostBytes: nil))
    }
  }

  private static func checkOrder(_ reader: MessageReader) {
    guard let order = DecodeOrder(reader, picture: Payload([1])) else { return }
    guard let other = DecodeOrder(again(order.message), picture: Payload([1])) else {
      fatalError("an order survives being written and read")
    }
    expect(other.rendition == order.rendition && other.serial == order.serial, "it is the same order")
    expect(other.format == order.format && other.limits == order.limits, "of the same picture")
  }
}
