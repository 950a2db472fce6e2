import Glibc
import ImgdConnection
import Testing

@testable import ImgctlCommands

/// `imgctl clients`.
struct ClientsTests {
  private func answer(_ rows: [String], cursor: String = "null", users: String = "") -> String {
    #"{"ok":true,"clients":[\#(rows.joined(separator: ","))],"cursor":\#(cursor)\#(users)}"#
  }

  private func row(_ number: Int, pid: Int32, requests: Int) -> String {
    #"{"connection":\#(number),"uid":1,"pid":\#(pid),"age_s":61,"under_way":2,"requests":\#(requests),"bytes_sent":2048}"#
  }

  @Test func `who asks most stands first, with the name of the program`() throws {
    let users = #","users":[{"uid":1,"connected":2,"accepted":9,"requests":77,"bytes_sent":10}]"#
    let daemon = try ScriptedDaemon { request in
      guard request == #"{"cmd":"clients"}"# else {
        #expect(request == #"{"cmd":"clients","cursor":"1"}"#)
        return [.line(answer([row(2, pid: getpid(), requests: 70)], users: users))]
      }
      return [.line(answer([row(1, pid: .max, requests: 7)], cursor: "\"1\""))]
    }
    let lines = imgctl(["clients"], daemon).output.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    #expect(lines.count == 5)
    #expect(lines[0] == "PID PROGRAM UID CONNECTED REQUESTS SENT UNDER WAY")
    #expect(lines[1].hasPrefix("\(getpid()) ") && lines[1].hasSuffix(" 1 1min 1s 70 2.0K 2"))
    #expect(!lines[1].hasPrefix("\(getpid()) - "))
    #expect(lines[2] == "\(Int32.max) - 1 1min 1s 7 2.0K 2")
    #expect(lines[4] == "1 2 9 77 10B")
  }

  @Test func `as JSON it is what the daemon answers`() throws {
    let line = answer([row(1, pid: 2, requests: 3)])
    let daemon = try ScriptedDaemon { _ in [.line(line)] }
    #expect(imgctl(["clients", "--json"], daemon).output == line + "\n")
  }
}
