/// What an operator allows at one host, and how it is reached.
struct HostLimits: Equatable {
  /// When downloads may begin: one after each interval, and some together after a time in which fewer did.
  struct Pace: Equatable {
    let interval: Duration
    let burst: Int
  }

  /// How many downloads run at once; nil for as many as from every host.
  var places: Int?
  var pace: Pace?
  /// How many bytes a second all downloads together bring.
  var bandwidth: Int?
  /// The host that is connected to, where that is another one.
  var contact: String?
}
