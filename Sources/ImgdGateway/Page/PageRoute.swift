/// The targets of the page's requests.
enum PageRoute: String {
  case page = "/"
  case icon = "/favicon.svg"
  case events = "/events"
  case entries = "/entries"
  case entry = "/entry"
  case search = "/search"
  case thumbnail = "/thumbnail"
  case preview = "/preview"
  case original = "/cached"
  case purge = "/purge"
  case metrics = "/metrics"
  case health = "/health"

  /// The methods, as `Allow` lists them.
  var methods: String { self == .purge ? "POST" : "GET, HEAD" }

  func takes(_ method: HTTPMethod) -> Bool {
    switch method {
    case .get, .head: self != .purge
    case .post: self == .purge
    case .other: false
    }
  }

  /// Whether only the page itself has a use for the target: requests for it that another site sends are refused.
  var isForThisSiteAlone: Bool {
    switch self {
    case .page, .icon, .metrics, .health: false
    case .events, .entries, .entry, .search, .thumbnail, .preview, .original, .purge: true
    }
  }
}
