/// What an operator allows at one host.
struct HostLimits: Equatable {
  /// When downloads may begin: one after each interval, and some together after a time in which fewer did.
  struct Pace: Equatable {
    let interval: Duration
    let burst: Int
  }

  /// How many downloads run at once; nil for as many as from every host.
  var places: Int?
  var pace: Pace?
}
