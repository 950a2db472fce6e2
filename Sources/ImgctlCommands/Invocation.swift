/// The commands of imgctl.
enum Verb: String, CaseIterable {
  case fetch, cancel, purge, stats, list, reload, ping, help
}

/// The contents of a command line.
package struct Invocation: Equatable {
  package var socket: String?
  var action: Action

  enum Action: Equatable {
    case version
    case help(Verb?)
    case fetch(FetchArguments)
    case cancel(CancelTarget)
    case purge(PurgeFilters)
    case stats(json: Bool)
    case list(json: Bool)
    case reload
    case ping
  }
}

/// The arguments of `fetch`.
struct FetchArguments: Equatable {
  /// The URLs; `-` stands for those on standard input.
  var urls: [String] = []
  /// A file, a directory, or `-` for standard output.
  var output: String?
  var json = false
  var progress = false
  var cache: String?
  var identifier: String?
  var priority: String?
  var tags: [String] = []
  var timeout: Duration?
  var maxBytes: Int?
  var headers: [Header] = []

  struct Header: Equatable {
    let name: String
    let value: String
  }
}

/// The fetches to cancel.
enum CancelTarget: Equatable {
  case receipt(String)
  case slot(String)
  case tag(String)
  case all
}

/// The filters of `purge`; an entry must match all that are given.
struct PurgeFilters: Equatable {
  var texts: [Text] = []
  var olderThan: Duration?
  var unusedFor: Duration?
  var expired = false
  var soft = false
  var everything = false

  /// A filter whose option and request field have the same name.
  struct Text: Equatable {
    let field: String
    let value: String
  }

  var isEmpty: Bool { texts.isEmpty && olderThan == nil && unusedFor == nil && !expired }
}
