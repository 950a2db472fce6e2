// Whether the threads of the tier are there, for those who watch over the daemon.

import ImgdSystem

extension DiskTier {
  /// Calls `answered` when the thread that writes comes to its next job; at once without a tier.
  package func askWriterForLife(then answered: @escaping () -> Void) {
    guard let writer else { return answered() }
    writer.askForLife(then: answered)
  }

  /// Calls `answered` when the thread that reads comes to its next job; at once without a tier.
  package func askReaderForLife(then answered: @escaping () -> Void) {
    guard let reader else { return answered() }
    reader.askForLife(then: answered)
  }
}
