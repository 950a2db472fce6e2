import ImgdSystem

/// The socket that imgctl uses, and why this one.
struct SocketPlace {
  /// The possible reasons for the choice, the strongest first.
  enum Choice { case option, variable, ownDaemon, machine }

  let path: String
  let choice: Choice
  /// Whether it is the socket of the unit of this user's daemon.
  let isOwn: Bool
  /// Whether it is the socket of the machine's unit.
  let isMachines: Bool
  /// Whether systemd manages this machine's services.
  let hasManager: Bool

  init(_ context: Context, hasManager: Bool = TextFile.isThere("/run/systemd/system")) {
    path = context.socket
    self.hasManager = hasManager
    let own = ControlSocketPlace.user(environment: context.environment, uid: ProcessUser.effective)
    isOwn = path == own
    isMachines = path == ControlSocketPlace.system
    choice =
      if context.manner.socket != nil { .option } else if !(context.environment["IMGD_SOCKET"] ?? "").isEmpty {
        .variable
      } else { isOwn ? .ownDaemon : .machine }
  }

  /// The choice in a few words.
  var reason: String {
    switch choice {
    case .option: "named by --socket"
    case .variable: "named by $IMGD_SOCKET"
    case .ownDaemon: "of your own daemon"
    case .machine: "of the machine's daemon"
    }
  }

  /// The command that starts a daemon for this socket.
  var startCommand: String {
    if isMachines { return hasManager ? "sudo systemctl enable --now imgd.socket" : "imgd, as root" }
    if isOwn { return hasManager ? "systemctl --user enable --now imgd.socket" : "imgd" }
    return "imgd --socket \(path)"
  }

  /// The command that shows the log, in brackets, where the daemon is a unit.
  var logCommand: String {
    guard hasManager else { return "" }
    return isMachines ? " (journalctl -u imgd)" : isOwn ? " (journalctl --user -u imgd)" : ""
  }

  /// The command that restarts the daemon, after a colon, where it is a unit.
  var restartCommand: String {
    guard hasManager else { return "" }
    return isMachines ? ": sudo systemctl restart imgd" : isOwn ? ": systemctl --user restart imgd" : ""
  }
}
