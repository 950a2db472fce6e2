import ImgdDecode
import ImgdPicture
import ImgdWire

/// What decoders can do here, or why there is none.
typealias KnownAbilities = Result<DecoderAbilities, DecodeFailure>

extension Renditions {
  /// Has a command answered when it is known what decoders can do: the first who asks waits for a decoder to
  /// say so.
  func tellAbilities(
    to session: ClientSession, id: RequestID, answer: @escaping (KnownAbilities) -> Void
  ) {
    guard session.hasRoomToStandBy else {
      return session.refuse(
        id: id, receipt: nil, .tooManyReceipts(limit: session.limits.receipts))
    }
    let ticket = session.standBy(id: id)
    learnAbilities { abilities in session.resume(ticket) { answer(abilities) } }
  }
}

extension JSONWriter {
  /// The formats, the library, the sandbox; without a decoder the reason.
  mutating func abilities(_ abilities: KnownAbilities) {
    switch abilities {
    case .success(let abilities):
      field("sandbox", DecodingFigures.Sandbox(abilities.layers).rawValue)
      formats("decodes", abilities.reads)
      formats("encodes", abilities.writes)
      field("library", abilities.library)
    case .failure(let failure):
      field("sandbox", DecodingFigures.Sandbox.off.rawValue)
      formats("decodes", [])
      formats("encodes", [])
      field("note", failure.reason)
    }
  }

  private mutating func formats(_ name: StaticString, _ formats: Set<PictureFormat>) {
    array(name) { line in
      for format in PictureFormat.allCases where formats.contains(format) {
        line.value(format.name)
      }
    }
  }
}
