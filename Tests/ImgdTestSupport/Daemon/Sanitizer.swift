import Glibc

/// The sanitizer that this run was built with: `.ci/check-slow` names it.
package enum Sanitizer {
  package static let name = getenv("IMGD_SANITIZER").map { String(cString: $0) }

  /// What a program with an environment of its own has to be told as well: where its findings go, and which ones
  /// are passed over.
  package static let variables = ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"]
    .compactMap { (name: String) in
      getenv(name).map { "\(name)=\(String(cString: $0))" }
    }

  package static let isOn = name != nil
}
