/// A place in the log of purges that all hosts of a fleet read.
package struct FleetPosition: Hashable, Sendable {
  /// Which life of the server's data this is: the number changes when the server is emptied.
  package let generation: UInt64
  /// The number of the last purge up to here; 0 before the first one.
  package let number: UInt64
  /// The random number of that purge: a log with another history has another number here.
  package let nonce: UInt64

  package init(generation: UInt64, number: UInt64, nonce: UInt64) {
    self.generation = generation
    self.number = number
    self.nonce = nonce
  }
}
