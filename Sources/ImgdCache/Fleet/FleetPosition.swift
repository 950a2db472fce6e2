/// A place in the log of purges that all hosts of a fleet read.
package struct FleetPosition: Hashable, Sendable {
  /// The life of the server's data: another number after it was emptied.
  package let generation: UInt64
  /// The last purge up to here; 0 before the first one.
  package let number: UInt64
  /// The random number of this purge: a log with another history has another one here.
  package let nonce: UInt64

  package init(generation: UInt64, number: UInt64, nonce: UInt64) {
    self.generation = generation
    self.number = number
    self.nonce = nonce
  }
}
