internal import CLinux

/// The variables that a program was started with.
package enum ProcessEnvironment {
  /// All of them by name; of a name that comes twice the first holds, as with getenv(3).
  package static var variables: [String: String] {
    var variables: [String: String] = [:]
    // Strings that live as long as the process, up to a null pointer; nothing here changes them.
    var next = unsafe linux_environment()
    while let entry = unsafe next?.pointee {
      add(unsafe String(cString: entry), to: &variables)
      unsafe next = next?.successor()
    }
    return variables
  }

  private static func add(_ entry: String, to variables: inout [String: String]) {
    guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else { return }
    let name = String(entry[..<equals])
    guard variables[name] == nil else { return }
    variables[name] = String(entry[entry.utf8.index(after: equals)...])
  }
}
