import Glibc

/// Tests that measure memory or time, or do one thing thousands of times: `make test-slow` runs them.
/// All of their suites are called `SoakTests`.
package enum SlowTests {
  package static let areWanted = getenv("IMGD_TESTS").map { String(cString: $0) } == "slow"

  package static let reason = "it takes long or measures: `make test-slow` runs it"
}
