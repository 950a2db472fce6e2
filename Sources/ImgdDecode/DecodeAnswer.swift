package import ImgdPicture
package import ImgdSystem

/// What a decoder has made of an order.
package enum DecodeAnswer: Sendable {
  case picture(MadePicture)
  case description(PictureDescription)
  case failure(DecodeFailure)
}

/// Pixels or a file, in a sealed memfd.
package struct MadePicture: Sendable {
  /// As many delays go into a message, and into a line of the protocol.
  package static let mostDelays = 4_096

  /// Nil for pixels: four bytes each, row after row without a gap, frame after frame.
  package let format: PictureFormat?
  /// The width of a frame, upright.
  package let width: Int
  package let height: Int
  /// The frames of the file; for pixels, those of the picture that they were decoded from.
  package let frames: Int
  /// How long each frame of pixels is shown, in milliseconds; empty for a single one.
  package let delays: [Int]
  package let content: Payload

  package init(
    format: PictureFormat?, width: Int, height: Int, frames: Int, delays: [Int] = [], content: Payload
  ) {
    self.delays = delays
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
    self.content = content
  }
}

/// A few bytes that stand for a picture until it can be shown.
package struct PictureDescription: Hashable, Sendable {
  /// About 25 bytes; see evanw.github.io/thumbhash.
  package let thumbHash: [UInt8]
  /// Red, green, blue and alpha of the mean colour.
  package let average: [UInt8]

  package init(thumbHash: [UInt8], average: [UInt8]) {
    self.thumbHash = thumbHash
    self.average = average
  }
}

/// Why an order has no result.
package struct DecodeFailure: Error, Hashable, Sendable {
  /// The kinds of reasons, each of which has an answer of its own.
  package enum Cause: UInt8, Sendable, CaseIterable {
    /// The bytes are damaged, or not what they seem to be.
    case damaged
    /// The library cannot read or write such a picture.
    case unsupported
    /// More pixels, frames or bytes than the limits allow.
    case tooLarge
    /// The decoder ended while it worked on the order.
    case crashed
    /// The order took longer than it may.
    case timedOut
    /// There is no decoder, or none that may be used.
    case unavailable
    /// The order was given up before it was begun.
    case stopped
    /// Too much waits for a decoder already.
    case queueFull
    /// The picture can be read, but this form of it could not be made.
    case unmade
    /// The decoder was killed from outside while it worked on the order, more than once.
    case killed
  }

  package let cause: Cause
  /// A phrase for people.
  package let reason: String
  /// The time that the order took longer than; the daemon's own, which no decoder sends.
  package let limit: Duration?

  package init(_ cause: Cause, _ reason: String, limit: Duration? = nil) {
    self.cause = cause
    self.reason = reason
    self.limit = limit
  }
}

/// magic, version, kind; serial (8 bytes), kind of answer (1), what belongs to it. A picture comes as a descriptor.
extension DecodeAnswer {
  func message(serial: UInt64) -> [UInt8] {
    var writer = MessageWriter(.answer)
    writer.append(serial)
    switch self {
    case .picture(let made): writer.append(made)
    case .description(let description):
      writer.append(UInt8(1))
      writer.append(description.thumbHash)
      writer.append(description.average)
    case .failure(let failure):
      writer.append(UInt8(2))
      writer.append(failure.cause.rawValue)
      writer.append(failure.reason)
    }
    return writer.bytes
  }

  /// Reads an answer; nil if it states something impossible.
  init?(_ reader: consuming MessageReader, content: Payload?) {
    let answer: DecodeAnswer? =
      switch (reader.byte(), content) {
      case (0, let content?): reader.picture(of: content).map { .picture($0) }
      case (1, nil): reader.description().map { .description($0) }
      case (2, nil): reader.failure().map { .failure($0) }
      default: nil
      }
    guard let answer, reader.isAtEnd else { return nil }
    self = answer
  }

  /// Whether the answer is of the kind that was asked for.
  package func isAnswer(to rendition: Rendition) -> Bool {
    switch (self, rendition.output) {
    case (.failure, _), (.description, .description): true
    case (.picture(let made), .pixels):
      made.format == nil && (made.delays.isEmpty || rendition.frames == .all && made.delays.count == made.frames)
    case (.picture(let made), .file(let format?, _)): made.format == format
    case (.picture(let made), .file(nil, _)): made.format != nil
    default: false
    }
  }
}

extension MessageWriter {
  /// 0 (1 byte), format (1), width, height, frames, number of delays, delays (4 each)
  fileprivate mutating func append(_ made: MadePicture) {
    append(UInt8(0))
    append(made.format?.rawValue ?? MessageLayout.none)
    append32(made.width)
    append32(made.height)
    append32(made.frames)
    append32(made.delays.count)
    for delay in made.delays { append32(delay) }
  }
}

extension MessageReader {
  fileprivate mutating func picture(of content: Payload) -> MadePicture? {
    let measures = 1...Int(Int32.max)
    guard let code = byte(), let width = number32(measures), let height = number32(measures),
      let frames = number32(measures), let delays = delays(), content.count > 0
    else { return nil }
    let format = PictureFormat(rawValue: code)
    if code == MessageLayout.none {
      // The first product does not overflow: its factors have 31 bits.
      let (bytes, isTooMany) = (width * height).multipliedReportingOverflow(by: 4 * max(1, delays.count))
      guard !isTooMany, content.count == bytes else { return nil }
    } else if format == nil || !delays.isEmpty {
      return nil
    }
    return MadePicture(format: format, width: width, height: height, frames: frames, delays: delays, content: content)
  }

  /// A single frame has none.
  private mutating func delays() -> [Int]? {
    guard let count = number32(0...MadePicture.mostDelays), count != 1 else { return nil }
    var delays: [Int] = []
    for _ in 0..<count {
      guard let delay = number32(0...Int(Int32.max)) else { return nil }
      delays.append(delay)
    }
    return delays
  }

  fileprivate mutating func description() -> PictureDescription? {
    guard let thumbHash = list(1...MessageLayout.longestThumbHash), let average = list(4...4) else { return nil }
    return PictureDescription(thumbHash: thumbHash, average: average)
  }

  /// The other causes are for the daemon alone to state.
  fileprivate mutating func failure() -> DecodeFailure? {
    guard let cause = byte().flatMap(DecodeFailure.Cause.init),
      [.damaged, .unsupported, .tooLarge, .unmade].contains(cause), let reason = text()
    else { return nil }
    return DecodeFailure(cause, reason)
  }
}
