import Glibc
internal import ImgdSystem

/// A file that cannot be used as a secret, in a sentence for the operator.
package struct SecretFileProblem: Error, Equatable { package let message: String }

/// A file of keys or tokens, which only its owner and a group may read.
package enum SecretFile {
  /// A longer file is something else.
  private static let longest = 64 * 1024

  /// All bytes of the file that a key of `[HTTP-Gateway]` names.
  package static func read(_ path: String, for key: String) throws(SecretFileProblem) -> [UInt8] {
    let bytes: [UInt8]
    let permissions: UInt32
    do throws(SystemFailure) {
      // A pipe without a writer must not hold anything up.
      let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
      permissions = try file.status(path).permissions
      bytes = try file.rest(longest + 1, of: path)
    } catch { throw SecretFileProblem(message: "HTTP-Gateway.\(key)=\(path) cannot be read: \(error.reason)") }
    guard permissions & 0o007 == 0 else {
      throw SecretFileProblem(
        message: "HTTP-Gateway.\(key)=\(path) is open to every user (mode 0\(String(permissions, radix: 8)));"
          + " give it mode 0640 and the gateway's group")
    }
    guard bytes.count <= longest else {
      throw SecretFileProblem(
        message: "HTTP-Gateway.\(key)=\(path) has more than \(longest) bytes, where a few lines are expected")
    }
    return bytes
  }
}
