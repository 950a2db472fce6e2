import ImgdPicture
import ImgdSystem
import ImgdTransfer

/// What happens to a download, in the words of the pipeline.
enum DownloadNews: Sendable {
  case started
  /// The final response's headers are there; `expected` is nil when the length is not known.
  case headers(expected: Int?)
  case progress(received: Int, expected: Int?)
  case finished(DownloadOutcome)
}

/// How a download ended.
enum DownloadOutcome: Sendable {
  case picture(TransferResult, Picture)
  /// The origin confirmed the image that it was asked about (304).
  case confirmed(TransferResult)
  case notAPicture(TransferResult, NotAPicture)
  case failed(TransferFailure)
}

/// News of one transfer on its way from the transfer loop to the control loop.
struct TransferReport: Sendable {
  let serial: UInt64
  let news: DownloadNews

  /// Puts what the engine says into the pipeline's words. Runs on the transfer loop, so that
  /// looking into a body of many megabytes never delays a hit.
  init(_ event: TransferEvent) {
    switch event {
    case .headers(let serial, let expected):
      self.serial = serial
      news = .headers(expected: expected)
    case .progress(let serial, let received, let expected):
      self.serial = serial
      news = .progress(received: received, expected: expected)
    case .finished(let serial, let outcome):
      self.serial = serial
      news = .finished(Self.recognise(outcome))
    }
  }

  private static func recognise(_ outcome: TransferOutcome) -> DownloadOutcome {
    switch outcome {
    case .failed(let failure): return .failed(failure)
    case .received(let result) where result.head.status == 304: return .confirmed(result)
    case .received(let result):
      let recognised = result.payload.withBytes { bytes in
        Result { () throws(NotAPicture) in try PictureProbe.recognise(bytes) }
      }
      switch recognised {
      case .success(let picture): return .picture(result, picture)
      case .failure(let reason): return .notAPicture(result, reason)
      }
    }
  }
}
