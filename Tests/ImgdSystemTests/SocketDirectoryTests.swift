import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct SocketDirectoryTests {
  private let directory = TemporaryDirectory()

  private func problem(mode: mode_t, owner: uid_t? = nil) -> String? {
    let place = directory.path + "/place"
    mkdir(place, 0o700)
    chmod(place, mode)
    if let owner { chown(place, owner, gid_t.max) }
    do throws(ListenProblem) {
      let listener = try UnixListener(path: place + "/imgd.sock")
      listener.close()
      return nil
    } catch { return error.description }
  }

  @Test(arguments: [0o700, 0o755, 0o750, 0o1777, 0o1770, 0o2755] as [mode_t])
  func `a directory in which nobody can replace the socket is taken`(mode: mode_t) {
    #expect(problem(mode: mode) == nil)
  }

  @Test(arguments: [(0o777, "0777"), (0o775, "0775"), (0o757, "0757"), (0o2770, "02770")])
  func `a directory that others may write is refused`(mode: Int, text: String) {
    let place = directory.path + "/place"
    #expect(
      problem(mode: mode_t(mode))
        == "the socket's directory \(place) can be written to by others (mode \(text)), who could "
        + "replace the socket: only its owner may (chmod go-w \(place))")
    #expect(access(place + "/imgd.sock.lock", F_OK) != 0, "nothing is made there")
  }

  @Test(.enabled(if: geteuid() == 0))
  func `a directory of another user is refused, even a sticky one`() {
    for mode: mode_t in [0o755, 0o1777] {
      #expect(
        problem(mode: mode, owner: 4242)?.contains("belongs to user 4242, who could replace")
          == true)
    }
  }

  @Test func `a directory of root's is taken by other users`() {
    let status = directoryStatus(owner: 0, mode: 0o755)
    #expect(SocketDirectory.danger(of: status, at: "/run/imgd", for: 1000) == nil)
    let foreign = directoryStatus(owner: 1001, mode: 0o700)
    #expect(SocketDirectory.danger(of: foreign, at: "/d", for: 1000)?.contains("1001") == true)
  }

  @Test func `a link to a directory counts as what it leads to`() throws {
    let (place, link) = (directory.path + "/place", directory.path + "/link")
    symlink(place, link)
    mkdir(place, 0o700)
    let listener = try UnixListener(path: link + "/imgd.sock")
    listener.close()
    chmod(place, 0o777)
    #expect(throws: ListenProblem.self) { try UnixListener(path: link + "/imgd.sock") }
  }

  @Test(arguments: [
    ("/run/imgd/imgd.sock", "/run/imgd"), ("/imgd.sock", "/"), ("imgd.sock", "."), ("a/b", "a"),
  ])
  func `the directory of a socket is told from its path`(path: String, directory: String) {
    #expect(SocketDirectory(of: path).path == directory)
  }

  private func directoryStatus(owner: uid_t, mode: mode_t) -> FileStatus {
    var status = stat()
    status.st_uid = owner
    status.st_mode = S_IFDIR | mode
    return FileStatus(status)
  }
}
