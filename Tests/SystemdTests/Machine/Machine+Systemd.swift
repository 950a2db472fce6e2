import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire

// MARK: Units

extension Machine {
  /// A property of a unit as `systemctl show` has it; empty when it has none.
  func property(_ name: String, of unit: String = "imgd.service") throws -> String {
    try perform("systemctl show --property \(name) --value \(unit)")
  }

  /// `active`, `inactive`, `failed`, `deactivating`, `reloading`. A service that answers may have said that it is ready
  /// without systemd having read it: to start it once more waits for that.
  func state(of unit: String = "imgd.service") throws -> String {
    let state = try property("ActiveState", of: unit)
    guard state == "activating" else { return state }
    try run("systemctl start \(unit)")
    return try property("ActiveState", of: unit)
  }

  /// The number out here of a service's main process.
  func process(of unit: String = "imgd.service") throws -> pid_t {
    guard let inside = pid_t(try property("MainPID", of: unit)), inside > 0 else {
      throw TestFailure("\(unit) does not run\n\(try recentJournal())")
    }
    return try process(inside: inside)
  }

  /// Adds settings to a unit, for all starts from now on.
  func extend(_ unit: String = "imgd.service", with settings: String) throws {
    try write(settings, to: "/run/systemd/system/\(unit).d/50-test.conf")
    try perform("systemctl daemon-reload")
  }
}

// MARK: Journal

/// One entry of the journal, with the fields as `journalctl --output=json` names them.
struct JournalEntry: CustomStringConvertible {
  let fields: JSONValue

  subscript(_ field: String) -> String? { fields[field]?.string }

  var message: String { self["MESSAGE"] ?? "" }
  /// 3 is an error, 4 a warning.
  var priority: Int { Int(self["PRIORITY"] ?? "") ?? 6 }
  var description: String { "<\(priority)> \(message)" }
}

extension Machine {
  /// What the journal has, oldest first, narrowed as `journalctl` does it: `--unit=imgd`,
  /// `--priority=warning`, `IMGD_EVENT=started`.
  func journal(_ matches: String = "--unit=imgd.service") throws -> [JournalEntry] {
    let lines = try perform(
      "journalctl --sync; journalctl --quiet --boot --all --output=json \(matches)")
    return try lines.split(separator: "\n").map { line in
      JournalEntry(fields: try JSONValue(parsing: String(line)))
    }
  }

  /// For the message of a test that has failed.
  func recentJournal() throws -> String {
    try perform("journalctl --sync; journalctl --quiet --boot --lines=30 --output=short-monotonic")
  }
}

// MARK: Waiting

extension Machine {
  /// Looks again and again until something holds; throws when it does not within so many seconds.
  func waitUntil(
    _ what: String, within seconds: Int = 60, _ holds: () throws -> Bool
  ) throws {
    let start = Instant.current
    while try !holds() {
      let passed = Instant.current - start
      guard passed < .seconds(seconds) else {
        throw TestFailure("not within \(seconds) s: \(what)\n\(try recentJournal())")
      }
      // Looking is work as well, and would be in the way of what it waits for.
      poll(nil, 0, CInt(min(max(passed / .milliseconds(8), 10), 500)))
    }
  }

  /// Waits until a unit is in a state.
  func waitUntil(_ unit: String = "imgd.service", is state: String) throws {
    try waitUntil("\(unit) is \(state)") { try self.state(of: unit) == state }
  }

  /// Waits until the journal has an entry with these words.
  func waitForJournal(_ words: String, _ matches: String = "--unit=imgd.service") throws {
    try waitUntil("the journal says '\(words)'") {
      try journal(matches).contains { $0.message.contains(words) }
    }
  }
}
