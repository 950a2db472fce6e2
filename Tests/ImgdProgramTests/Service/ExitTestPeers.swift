import CTestLinux
import Glibc
import ImgdTestSupport

// The environment and the journal's path belong to a whole process: for exit tests alone.

/// A socket of the test in the place of the service manager.
func makeManager() throws -> DatagramPeer {
  let name = "@imgd-test-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
  setenv("NOTIFY_SOCKET", name, 1)
  return try DatagramPeer(name)
}

/// A socket of the test in the place of the journal, for the calling thread and those it starts.
func makeJournal() throws -> DatagramPeer {
  guard test_cover_directory("/run") == 0 else {
    throw TestFailure("/run: \(String(cString: strerror(errno)))")
  }
  mkdir("/run/systemd", 0o755)
  mkdir("/run/systemd/journal", 0o755)
  return try DatagramPeer("/run/systemd/journal/socket")
}
