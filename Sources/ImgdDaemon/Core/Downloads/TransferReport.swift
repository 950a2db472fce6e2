import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdTransfer

/// A transfer's event on its way to the core, with the picture that its body was recognised as.
struct TransferReport: Sendable {
  typealias Content = Result<ReceivedPicture, NotAPicture>

  let serial: UInt64
  let event: TransferEvent
  /// Nil unless the event brings a body.
  let content: Content?

  /// Recognises the picture. Called on the transfer loop, so that looking into a body of many
  /// megabytes never delays a hit.
  init(_ event: TransferEvent) {
    self.event = event
    serial =
      switch event {
      case .headers(let serial, _), .progress(let serial, _, _), .finished(let serial, _): serial
      }
    content =
      if case .finished(_, .received(let result)) = event, !result.isConfirmation {
        result.payload.withBytes { bytes in
          Result { () throws(NotAPicture) in
            let picture = try PictureProbe.recognise(bytes)
            return ReceivedPicture(picture: picture, checksum: BodyChecksum(of: result.payload))
          }
        }
      } else { nil }
  }
}

/// A picture as it was received, and the checksum of its bytes.
struct ReceivedPicture: Sendable {
  let picture: PictureMeasures
  let checksum: BodyChecksum
}

extension TransferResult {
  /// The origin confirmed the image that it was asked about.
  var isConfirmation: Bool { head.status == 304 }
}
