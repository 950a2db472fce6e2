/// What imgctl can be told to do.
enum Verb: String, CaseIterable {
  case fetch, cancel, purge, stats, list, reload, ping, help
}

/// Everything a command line says.
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

/// What to fetch, how, and where it goes.
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

/// Which fetches to cancel.
enum CancelTarget: Equatable {
  case receipt(String)
  case slot(String)
  case tag(String)
  case all
}

/// Which entries to purge; all given filters must match.
struct PurgeFilters: Equatable {
  var texts: [Text] = []
  var olderThan: Duration?
  var unusedFor: Duration?
  var expired = false
  var soft = false
  var everything = false

  /// A filter whose field in the request has the name of its option.
  struct Text: Equatable {
    let field: String
    let value: String
  }

  var isEmpty: Bool { texts.isEmpty && olderThan == nil && unusedFor == nil && !expired }
}
