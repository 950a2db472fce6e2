import Glibc

/// The gateway as a process: arguments in, exit code out.
package enum GatewayProgram {
  package static func run() -> CInt { EX_OK }
}
