import ImgdConnection
import ImgdWire

/// The daemon's answer to a request of the page.
enum PageReply {
  /// A refusal becomes an error, and so does a daemon that cannot be reached.
  static func of(_ result: Result<DaemonAnswer, ConnectionProblem>) -> Result<Reply, GatewayError> {
    switch result {
    case .success(let answer):
      answer.reply.succeeded == true ? .success(answer.reply) : .failure(refusal(in: answer.reply))
    case .failure(let problem):
      .failure(GatewayError(503, "unavailable", problem.description, isRetryable: true))
    }
  }

  private static func refusal(in reply: Reply) -> GatewayError {
    let code = reply.errorCode ?? "internal"
    return GatewayError(
      status(of: ReplyCode(rawValue: code) ?? .internal), code,
      reply.errorMessage ?? "the daemon gave no reason", isRetryable: reply.isRetryable)
  }

  private static func status(of code: ReplyCode) -> Int {
    switch code {
    case .notCached: 404
    case .badRequest, .badURL, .blockedScheme, .unknownField, .lineTooLong: 400
    case .forbidden: 403
    case .notAnImage, .unsupportedFormat, .tooManyPixels, .decodeFailed, .decodeCrashed: 422
    case .tooManyRequests, .queueFull, .shuttingDown, .unavailable, .cancelled, .diskFull: 503
    case .timeout: 504
    default: 500
    }
  }
}
