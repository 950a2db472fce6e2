import ImgdTestSupport
import ImgdTransfer

/// An origin that is a plan: its answers, and the requests to it. It stands for the engine
/// and the network, in the words of `OriginServer`.
final class PlannedOrigin {
  private var plans: [String: [OriginAnswer]] = [:]
  /// All requests, in the order in which they came.
  private(set) var requests: [OriginRequest] = []
  /// All orders, in the same order.
  private(set) var orders: [TransferOrder] = []
  /// How many transfers are under way.
  var running = 0
  /// How many transfers were aborted.
  var aborted = 0
  /// How often what broke off was to be forgotten.
  var dropsOfPartials = 0

  /// The whole URL of a path, under the usual name of the host or another one.
  func url(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):8080\(path)" }

  /// Plans the answers of a path on every host: each of them once, and the last one for ever.
  func plan(_ path: String, _ answers: OriginAnswer...) { plans[path] = answers }

  func requests(_ path: String) -> [OriginRequest] { requests.filter { $0.path == path } }

  /// How often a path was asked for.
  func count(_ path: String) -> Int { requests(path).count }

  /// Records a request and returns its planned answer; a path without a plan is a 404.
  func answer(_ order: TransferOrder) -> [OriginAnswer.Step] {
    guard let request = OriginRequest(order.requestText, connection: 1) else {
      preconditionFailure("an order makes a request: \(order)")
    }
    requests.append(request)
    orders.append(order)
    guard let planned = plans[request.path], let first = planned.first else {
      return OriginAnswer.status(404).steps(request)
    }
    if planned.count > 1 { plans[request.path] = Array(planned.dropFirst()) }
    return first.steps(request)
  }
}

extension OriginAnswer {
  /// Fails as the engine would have it fail.
  static func fails(_ kind: TransferFailure.Kind) -> OriginAnswer {
    .fails(TransferFailure(kind, "the plan says so"))
  }
}

extension TransferOrder {
  /// The order as an origin would read it, without the headers that the engine adds.
  fileprivate var requestText: String {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    let path = parts.count > 3 ? "/" + parts[3] : "/"
    let fields = headers.map { "\r\n\($0.name): \($0.value)" }.joined()
    return "GET \(path) HTTP/1.1\r\nhost: \(parts[2])\(fields)"
  }
}
