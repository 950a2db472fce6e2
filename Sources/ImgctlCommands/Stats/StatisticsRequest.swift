import ImgdConnection
import ImgdMetrics
import ImgdSystem
import ImgdWire

extension Context {
  /// The daemon's counters as they are now.
  func statistics(over connection: ControlConnection) throws(Failure) -> (Statistics, Answer) {
    let answer = try ask(.stats, over: connection)
    return (Statistics(reply: answer.reply, moment: .current), answer)
  }
}
