import ImgdDecode
import ImgdPicture
import ImgdWire

/// What decoders can do here, or why there is no decoder.
typealias KnownAbilities = Result<DecoderAbilities, DecodeFailure>

extension Renditions {
  /// Answers a command once it is known what decoders can do: the first client that asks waits for a decoder to say so,
  /// and its next request waits for the answer. `isAtOnce` says that it is still the client's turn.
  func tellAbilities(to client: ReplyPlace, id: RequestID, answer: @escaping (KnownAbilities, _ isAtOnce: Bool) -> Void)
  {
    guard client.hasRoomToStandBy else {
      return client.refuse(id: id, receipt: nil, .tooManyReceipts(limit: client.limits.receipts))
    }
    var known: KnownAbilities?
    var ticket: StandingCommands.Ticket?
    learnAbilities { abilities in
      guard let ticket else { return known = abilities }
      client.resume(ticket) { answer(abilities, false) }
      client.release()
    }
    if let known { return answer(known, true) }
    client.hold()
    ticket = client.standBy(id: id)
  }
}

extension DecoderAbilities.Layers {
  /// How much of the sandbox is in force.
  var extent: String { isSuperset(of: .all) ? "full" : isEmpty ? "off" : "partial" }
}

extension JSONWriter {
  /// Writes the formats, the library and the sandbox; without a decoder, the reason for that.
  mutating func abilities(_ abilities: KnownAbilities) {
    switch abilities {
    case .success(let abilities):
      field("sandbox", abilities.layers.extent)
      formats("decodes", abilities.reads)
      // Only those that `format` can name: a decoder may write others as well, to resize a picture in its own format.
      formats("encodes", abilities.writes.filter { OutputFormat(rawValue: $0.name) != nil })
      field("library", abilities.library)
    case .failure(let failure):
      field("sandbox", DecoderAbilities.Layers().extent)
      formats("decodes", [])
      formats("encodes", [])
      field("note", failure.reason)
    }
  }

  private mutating func formats(_ name: StaticString, _ formats: Set<PictureFormat>) {
    array(name) { line in
      for format in PictureFormat.allCases where formats.contains(format) { line.value(format.name) }
    }
  }
}
