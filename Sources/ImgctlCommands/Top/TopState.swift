import ImgdConnection

/// All that `top` shows.
struct TopState {
  /// How many intervals the widest terminal has columns for.
  private static let longestHistory = 1000

  let socket: String
  private(set) var latest: DaemonStatistics?
  private(set) var history: [Traffic] = []
  private(set) var fetches: [Reply] = []
  /// Why there is no connection; nil if there is one.
  private(set) var problem: String?
  var isPaused = false
  /// Whether the keys are explained in place of the numbers.
  var showsKeys = false

  /// Takes in the daemon's answers to one look.
  mutating func show(_ statistics: DaemonStatistics, _ fetches: [Reply]) {
    if let latest, let interval = Interval(from: latest, to: statistics) {
      history.append(Traffic(interval))
      if history.count > Self.longestHistory { history.removeFirst() }
    } else {
      // Another process: what came before has nothing to do with it.
      history = []
    }
    latest = statistics
    self.fetches = fetches
    problem = nil
  }

  /// Notes that the daemon cannot be asked now.
  mutating func show(problem: String) {
    self.problem = problem
    fetches = []
  }
}
