import ImgdWire
import Testing

@testable import ImgdDaemon

struct LatencyHistogramTests {
  @Test(arguments: LatencyBounds.nanoseconds.indices) func `a bound belongs to its own bucket`(bound: Int) {
    var histogram = LatencyHistogram()
    let time = LatencyBounds.nanoseconds[bound]
    for time in [time, time, time + 1] { histogram.record(time) }
    let counts = histogram.withinBounds
    #expect(counts[..<bound].allSatisfy { $0 == 0 } && counts[bound] == 2)
    #expect(counts[(bound + 1)...].allSatisfy { $0 == 3 })
    #expect(histogram.count == 3 && histogram.sum == 3 * time + 1)
  }

  @Test func `what takes longer than all bounds is only among all`() {
    var histogram = LatencyHistogram()
    histogram.record(11_000_000_000)
    #expect(histogram.withinBounds.allSatisfy { $0 == 0 } && histogram.count == 1)
  }

  @Test func `nothing took no time`() {
    let histogram = LatencyHistogram()
    #expect(histogram.count == 0 && histogram.sum == 0 && histogram.withinBounds.allSatisfy { $0 == 0 })
  }

  @Test func `the sum counts what is beyond the longest as the longest`() {
    var histogram = LatencyHistogram(finestBits: 2, most: 1_000)
    for time: Int64 in [5_000, 5_000, 10] { histogram.record(time) }
    #expect(histogram.sum == 2_010)
  }
}
