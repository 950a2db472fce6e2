internal import ImgdWire

/// The status of HTTP for each failure of the daemon.
enum ErrorStatus {
  /// The status for a code; `origin` is the status of the origin's answer, if that is the failure.
  static func status(of code: ReplyCode, origin: Int?) -> Int {
    switch code {
    case .badRequest, .badURL, .blockedScheme, .unknownField, .badJSON: 400
    case .blockedAddress, .forbidden: 403
    case .lineTooLong: 414
    case .tooLarge, .notAnImage, .unsupportedFormat, .tooManyPixels, .decodeFailed, .decodeCrashed: 422
    case .dns, .connect, .tls, .truncated, .emptyBody, .tooManyRedirects: 502
    case .tooManyRequests, .queueFull, .shuttingDown, .unavailable, .diskFull, .cancelled: 503
    case .timeout: 504
    case .httpStatus: status(ofOrigin: origin ?? 0)
    case .internal, .unknownCommand, .duplicateReceipt, .unknownReceipt, .notCached, .tooLargeInline: 500
    }
  }

  /// What an origin says about a picture is true here as well; what it says about imgd's request is not.
  private static func status(ofOrigin status: Int) -> Int {
    switch status {
    case 404, 410: status
    case 401, 403, 451: 403
    case 429: 503
    default: 502
    }
  }
}
