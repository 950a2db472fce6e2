import Glibc
import ImgdSystem

extension Configuration.Network {
  /// The reason why every https origin will fail; nil if the certificates can be read.
  ///
  /// This is not a mistake in the configuration: the file may be created later, and plain http needs no
  /// certificates.
  var certificateProblem: String? {
    guard unsafe access(caFile, R_OK) != 0 else { return nil }
    let reason = SystemFailure("access").reason
    return "no https origin can be verified: Network.CAFile=\(caFile) cannot be read: \(reason)"
  }
}
