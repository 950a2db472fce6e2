import Glibc
import ImgdSystem

extension Configuration.Network {
  /// Why no https origin will be trusted; nil when the certificates can be read.
  ///
  /// No mistake of the configuration: the file may come yet, and plain http needs none.
  var certificateProblem: String? {
    guard unsafe access(caFile, R_OK) != 0 else { return nil }
    let reason = SystemFailure("access").reason
    return "no https origin can be trusted: Network.CAFile=\(caFile) cannot be read: \(reason)"
  }
}
