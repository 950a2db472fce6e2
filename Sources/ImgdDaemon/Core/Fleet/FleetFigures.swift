import ImgdFleet
import ImgdWire

extension JSONWriter {
  /// The figures of the tier that hosts share.
  mutating func fleet(_ tier: FleetTier, _ purges: FleetPurges, server: String) {
    field("state", tier.state.phase.rawValue)
    if let reason = tier.state.reason { field("reason", reason) }
    field("server", server)
    field("hits", tier.counts.hits)
    field("misses", tier.counts.misses)
    field("waits", tier.counts.waits)
    field("timeouts", tier.counts.timeouts)
    field("stores", tier.counts.stores)
    field("refused", tier.counts.refused)
    field("overtaken", tier.counts.overtaken)
    field("invalid", tier.counts.invalid)
    field("bytes_read", tier.counts.bytesRead)
    field("bytes_stored", tier.counts.bytesStored)
    object("purges") { line in
      line.field("sent", purges.counts.sent)
      line.field("heard", purges.counts.heard)
      line.field("pending", purges.pending)
      line.field("waiting", purges.lag)
      line.field("gaps", purges.counts.gaps)
    }
  }
}
