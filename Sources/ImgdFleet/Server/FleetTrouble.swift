/// Why the server cannot be used, or not in full, and what would be right.
struct FleetTrouble: Error, Equatable {
  let phase: FleetState.Phase
  let reason: String

  init(_ phase: FleetState.Phase, _ reason: String) {
    self.phase = phase
    self.reason = reason
  }

  /// Tells what an error of the server means for its use; nil if it is about the command alone.
  init?(serverSaid text: String) {
    let word = text.prefix { $0 != " " }
    switch word {
    case "LOADING": self.init(.down, "it is still reading its data")
    case "BUSY": self.init(.down, "a script of somebody else keeps it busy")
    case "MASTERDOWN": self.init(.down, "it is a replica without its master")
    case "CLUSTERDOWN", "MOVED", "ASK", "CROSSSLOT":
      self.init(.refused, "it is part of a cluster; a server that has all keys is needed")
    case "NOAUTH": self.init(.refused, "it asks for a password: set Fleet.PasswordFile=")
    case "WRONGPASS": self.init(.refused, "user or password are wrong: see Fleet.User= and Fleet.PasswordFile=")
    case "NOPERM": self.init(.refused, "the user has too few rights (\(text)): see docs/fleet.md")
    case "DENIED": self.init(.refused, "it is in protected mode: set a password, or bind it to this machine")
    case "READONLY": self.init(.readOnly, "it is a replica: name its master in Fleet.Server=")
    case "MISCONF": self.init(.readOnly, "it cannot save its data and takes no more: see its log, or set save \"\"")
    default: return nil
    }
  }

  /// The state of the fleet with this server.
  func state(of server: FleetSettings.Server) -> FleetState {
    FleetState(phase, "the fleet's server \(server): \(reason)")
  }
}

extension FleetSettings.Server: CustomStringConvertible {
  /// As in the configuration.
  package var description: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}
