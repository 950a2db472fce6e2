import ImgdTestSupport
import Testing

extension Trait where Self == ConditionTrait {
  /// Skipped, unless slow tests are wanted.
  static var slow: Self {
    .enabled(if: SlowTests.areWanted, Comment(rawValue: SlowTests.reason))
  }
}
