internal import ImgdSystem

/// What the engine asks of a connection to the server: a `RedisConnection`, or in tests one that they answer.
protocol ServerConnection: AnyObject {
  var limits: RedisConnection.Limits { get set }
  var isOpen: Bool { get }
  /// Called once, with the reason, unless the end was asked for.
  var onEnd: (String) -> Void { get set }
  /// Receives replies that no command has asked for; without it, such a reply ends the connection.
  var onMessage: ((RedisReply) -> Void)? { get set }

  /// Whether a command of this many bytes can be sent without waiting behind too many others.
  func hasRoom(for bytes: Int) -> Bool
  /// Sends a command; `then` is called once, never before this has returned.
  func send(_ command: RedisCommand, then: @escaping (RedisReply) -> Void)
  /// Sends a command whose answer arrives as messages.
  func sendForMessages(_ command: RedisCommand)
  /// Ends the connection without a call of `onEnd`; commands under way are lost.
  func close()
}

/// Begins a connection; commands may be sent at once.
typealias Connect = (ServerPlace, EventLoop, RedisConnection.Limits) throws(FleetTrouble) -> any ServerConnection
