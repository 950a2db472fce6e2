import ImgdConnection
import ImgdWire

/// The daemon's answer to a request of the page.
enum PageReply {
  /// A refusal becomes an error, and so does a daemon that cannot be reached.
  static func of(_ result: Result<DaemonAnswer, ConnectionProblem>) -> Result<Reply, GatewayError> {
    switch result {
    case .success(let answer):
      answer.reply.succeeded == true ? .success(answer.reply) : .failure(refusal(in: answer.reply))
    case .failure: .failure(.unreachable)
    }
  }

  private static func refusal(in reply: Reply) -> GatewayError {
    let code = reply.errorCode ?? "internal"
    return GatewayError(
      status(of: ReplyCode(rawValue: code) ?? .internal), code, reply.errorMessage ?? "the daemon gave no reason",
      isRetryable: reply.isRetryable)
  }

  /// The page shows only what is in the cache: for the page, any other picture does not exist.
  private static func status(of code: ReplyCode) -> Int {
    code == .notCached ? 404 : ErrorStatus.status(of: code, origin: nil)
  }
}
