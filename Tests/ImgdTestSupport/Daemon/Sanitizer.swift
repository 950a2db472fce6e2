import Glibc

/// The sanitizer that this run was built with: `.ci/check-slow` names it.
package enum Sanitizer {
  package static let name = getenv("IMGD_SANITIZER").map { String(cString: $0) }

  package static let isOn = name != nil
}
