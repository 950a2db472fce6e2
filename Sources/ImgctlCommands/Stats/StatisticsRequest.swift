import ImgdConnection
import ImgdSystem
import ImgdWire

extension Context {
  /// The daemon's counters as they are now.
  func statistics(over connection: ControlConnection) throws(Failure) -> (DaemonStatistics, Answer) {
    let answer = try ask(.stats, over: connection)
    return (DaemonStatistics(reply: answer.reply, moment: .current), answer)
  }
}
