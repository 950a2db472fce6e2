package import ImgdCache
package import ImgdSystem

/// What the engine reports, in the order in which it happened.
package enum FleetEvent: Sendable {
  /// The fleet can be used from now on, or no longer.
  case state(FleetState)
  /// One of the servers for pictures, by its place in the settings, can be used from now on, or no longer.
  case pictures(server: Int, FleetState)
  /// An answer to a look or a claim; `held` is followed by another one.
  case looked(serial: UInt64, FleetAnswer)
  /// The end of a store.
  case stored(serial: UInt64, FleetStoring)
  /// A value that could not be used, and was deleted.
  case defect(serial: UInt64, FleetDefect)
  /// The log of purges is being read, from its beginning or from where reading stopped.
  case joined(FleetJoin)
  /// Purges of all hosts, this one's own among them, in the order of their numbers.
  case purges([HeardPurge])
  /// How many seconds the server's clock is ahead of this machine's, or behind it; reported when that changes.
  case clock(secondsAhead: Int64)
  /// How many bytes the server keeps at most; 0 where it has no limit. Reported when that is known, or changes.
  case memory(limit: Int)
  /// Why this host is not in the list of hosts, in words; nil where it is. Reported when that changes.
  case unlisted(reason: String?)
  /// The end of a question for all hosts.
  case hosts(Result<HostList.Report, HostList.Problem>)
  /// A purge of this host is in the log.
  case sent(nonce: UInt64)
  /// A purge of this host was refused for now; it has to be sent again.
  case unsent(nonce: UInt64, reason: String)
}

/// Whether the fleet can be used.
package struct FleetState: Sendable, Equatable {
  /// What can be done with the server.
  package enum Phase: String, Sendable {
    /// The server has not been tried yet, or is being tried again.
    case connecting
    /// Everything works, and all purges have been heard.
    case ok
    /// The server can be read but not written.
    case readOnly = "read-only"
    /// There is no answer: it is tried again, less and less often.
    case down
    /// The server is there but must not be used in its present state.
    case refused
  }

  package var phase: Phase
  /// Why it is not `ok`, in words, with what would be right.
  package var reason: String?

  package init(_ phase: Phase, _ reason: String? = nil) {
    self.phase = phase
    self.reason = reason
  }

  /// Whether look-ups are of use.
  package var isReadable: Bool { phase == .ok || phase == .readOnly }
}

/// The answer to a look-up.
package enum FleetAnswer: Sendable {
  /// There is no picture, and nobody fetches it.
  case nothing
  /// It is arriving: the answer follows, at the latest after `FleetLook.longest`.
  case arriving
  /// This host is to fetch it: the others wait.
  case claimed
  /// Another host fetches it; the answer follows when that is over, or after three seconds.
  case held
  case found(FleetPicture)
  /// There is something that others may have a use for, and this host has not: it is left as it is.
  case foundForOthers
  /// The server has not answered, or has answered with an error.
  case failed
}

/// A picture as the fleet's server has it, or an answer without one; its bytes are those that were stored.
package struct FleetPicture: Sendable {
  package let record: StoredRecord
  package let payload: Payload
  /// The last purge that its host had heard when it was fetched.
  package let mark: FleetPosition
  /// Tells it apart from others under its key.
  package let stamp: UInt64
  /// How long ago it was stored when it was read, by the server's clock.
  package let age: Duration

  /// Whether it is an answer without a picture.
  package var isAnswer: Bool { payload.count == 0 }
}

/// What became of a store.
package enum FleetStoring: Sendable, Equatable {
  case kept
  /// The claim no longer stood: a purge, or another host, has taken it.
  case overtaken
  case tooLarge
  /// The server does not take it.
  case refused(String)
}

/// Why a value of the server was of no use.
package enum FleetDefect: String, Sendable { case foreign, damaged, tooLarge = "too-large" }

/// The beginning of what is reported from the log of purges.
package struct FleetJoin: Sendable {
  /// The life of the server's data.
  package let generation: UInt64
  /// The last purge in the log now; 0 for none.
  package let last: UInt64
  /// Whether the purges that follow begin at the log's first one, or after the last one that was reported.
  package let isFromBeginning: Bool
  /// Why purges may have been missed; nil if none was.
  package let loss: String?
}

/// A purge as it was read from the log.
package struct HeardPurge: Sendable {
  package let number: UInt64
  package let purge: FleetPurge
  /// How long ago it was asked for, by the server's clock.
  package let age: Duration
}
