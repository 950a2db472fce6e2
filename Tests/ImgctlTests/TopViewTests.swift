import ImgdConnection
import ImgdSystem
import ImgdWire
import Testing

@testable import ImgctlCommands

struct TopViewTests {
  private let view = TopView(
    palette: Palette(.never, isTerminal: true, environment: [:]), glyphs: .blocks,
    delay: .seconds(1))
  private let time = LocalTime(secondsSince1970: 0)

  private func reply(_ text: String) throws -> Reply { try Reply(Array(text.utf8), from: "test") }

  private func state(seconds: Int64 = 3) throws -> TopState {
    let fetches = try (1...50).map { number in
      let fetch = """
        {"receipt":"r","url":"http://h/\(number)/漢字\\u001b\(String(repeating: "x", count: 500))",\
        "state":"\(number > 2 ? "queued" : "running")","received":512,"expected":1024,"waiters":3,"age_ms":1500}
        """
      return try reply(fetch)
    }
    var state = TopState(socket: "/run/imgd/imgd.sock")
    for second in 0..<seconds {
      let text = someStatistics.replacing(#""hits":70"#, with: #""hits":\#(70 + second * 40)"#)
        .replacing(#""misses":30"#, with: #""misses":\#(30 + second * 10)"#)
      state.show(Look(statistics: try statistics(text, at: second), fetches: fetches))
    }
    return state
  }

  private func lines(_ state: TopState, _ columns: Int, _ rows: Int) -> [String] {
    view.lines(state, in: TerminalSize(columns: columns, rows: rows), at: time)
  }

  @Test(arguments: [1, 5, 20, 40, 59, 60, 80, 132, 300], [1, 2, 10, 24, 26, 50, 100])
  func `the picture has the size of the terminal`(columns: Int, rows: Int) throws {
    let shown = try lines(state(), columns, rows)
    #expect(shown.count == rows)
    for line in shown { #expect(TextWidth.of(line) <= columns, "\(line)") }
    #expect(!shown.joined().contains("\u{1b}"))
  }

  @Test func `it shows rates, capacities and fetches`() throws {
    let shown = try lines(state(), 100, 40)
    #expect(shown[0].hasPrefix("imgd 1.2\\x1b  up 1h 1min  /run/imgd/imgd.sock"))
    #expect(shown.contains { $0.hasPrefix("hit ratio     80.0%") && $0.hasSuffix(" ▃▃") })
    #expect(shown.contains { $0.hasPrefix("hits           40/s") && $0.hasSuffix("██") })
    #expect(shown.contains { $0.hasPrefix("misses         10/s") })
    #expect(
      shown.contains {
        $0.contains("2.0K [████████████████████ ") && $0.contains("of 4.0K, 1 entry")
      })
    #expect(shown.contains { $0.hasSuffix(" read-only") })
    #expect(
      shown.contains { $0.hasPrefix("downloads         2 [") && $0.hasSuffix("] of 4, 7 wait") })
    #expect(shown.contains("clients           3  answers: hit p50 9µs, p99 9µs, no fetch yet"))
    #expect(shown.contains { $0.hasPrefix("50 fetches, the oldest ") })
    #expect(
      shown.contains {
        $0.hasPrefix("██████        50.0%   512B        1s   3x  http://h/1/漢字\\x1bxxx")
      })
    #expect(shown.contains { $0.hasPrefix("queued") })
    #expect(shown.contains("PROGRESS       DONE  BYTES       AGE WAIT  URL"))
    #expect(shown.contains { $0.hasPrefix("downloaded      0/s") })
    let local = LocalTime(secondsSince1970: 86_401).withDate
    #expect(shown.contains { $0.contains("seen by cgroup, last \(local), ") })
    #expect(shown.last == "q quit  p pause  ? keys  every 1s")
  }

  @Test func `rates are averages of three seconds`() throws {
    var state = TopState(socket: "s")
    for (second, hits) in [0, 300, 300, 300, 300, 300].enumerated() {
      let text = someStatistics.replacing(#""hits":70"#, with: #""hits":\#(hits)"#)
      state.show(Look(statistics: try statistics(text, at: Int64(second))))
    }
    #expect(state.history.map(\.hits) == [300, 150, 100, 0, 0])
  }

  @Test(arguments: [(24, 4, 5), (40, 4, 6), (26, 4, 0), (14, 0, 0)])
  func `failures and hosts stand below the fetches`(rows: Int, failures: Int, hosts: Int) throws {
    let failed = (1...9).map { number in
      let last = Timestamp.rfc3339(Int64(number))
      return #"{"url":"http://h/\#(number)","code":"http_status","status":404,"times":\#(number),"last":"\#(last)"}"#
    }
    let origins = (1...9).map {
      #"{"host":"h\#($0)","section":null,"requests":\#($0),"hits":1,"coalesced":0,"errors":2,"bytes_received":1024}"#
    }
    let text = someStatistics.dropLast() + #","origins":[{"section":"*"},\#(origins.joined(separator: ","))]}"#
    var state = TopState(socket: "s")
    state.show(Look(statistics: try statistics(String(text), at: 1), failures: try failed.map(reply)))
    let shown = lines(state, 100, rows)
    let title = shown.firstIndex(of: "latest failures")
    #expect((title != nil) == (failures > 0))
    if let title {
      let time = LocalTime(secondsSince1970: 2).text
      #expect(shown[title + 2] == "http_status 404     \(time)     2x  http://h/2")
    }
    #expect(shown.filter { $0.contains("http_status 404") }.count == max(failures - 1, 0))
    #expect(shown.filter { $0.hasPrefix("         9     11.1%         2      1.0K  h9") }.count == (hosts > 0 ? 1 : 0))
    #expect(shown.filter { $0.contains("1.0K  h") }.count == max(hosts - 1, 0))
  }

  @Test func `a narrow terminal has the numbers without bars`() throws {
    let shown = try lines(state(), 20, 30)
    #expect(shown.contains("hits           40/s"))
    #expect(shown.contains("memory         2.0K"))
    #expect(shown.contains { $0.hasPrefix("50.0%  http://h/1/") })
  }

  @Test func `a lost connection is told, with what was known before`() throws {
    var state = try state()
    state.show(problem: "no program listens")
    let shown = lines(state, 100, 40)
    #expect(shown[1] == "no connection: no program listens")
    #expect(
      shown.contains { $0.hasPrefix("memory ") } && !shown.contains { $0.contains("http://") })
    state.show(Look(statistics: try statistics(at: 9)))
    #expect(!lines(state, 100, 40).contains { $0.hasPrefix("no connection") })
  }

  @Test func `another process begins a new history`() throws {
    var state = try state()
    #expect(state.history.count == 2)
    let other = someStatistics.replacing(#""pid":7"#, with: #""pid":8"#)
    state.show(Look(statistics: try statistics(other, at: 9)))
    #expect(state.history.isEmpty)
    #expect(lines(state, 100, 40).contains { $0.hasPrefix("hits              -") })
  }

  @Test func `what is allowed, what has failed and what is configured are told`() throws {
    var state = try state(seconds: 1)
    let text = someStatistics.replacing(
      #""workers":2,"active":1"#, with: #""workers":0,"max_workers":2,"active":0,"failed":7"#
    )
    .replacing(#""capacity":4096"#, with: #""capacity":4096,"configured":8192"#)
    .replacing(#""completed":5"#, with: #""completed":5,"failed":291"#)
    let held = #"{"url":"http://h/a","state":"queued","retry_after_ms":13500,"age_ms":1500}"#
    state.show(Look(statistics: try statistics(text, at: 5), fetches: [try reply(held)]))
    let shown = lines(state, 100, 40)
    #expect(
      shown.contains {
        $0.hasPrefix("decoders          0 [") && $0.hasSuffix("] of 2, 0 wait, 7 failed")
      })
    #expect(
      shown.contains { $0.hasPrefix("downloads ") && $0.hasSuffix("] of 4, 7 wait, 291 failed") })
    #expect(shown.contains { $0.hasSuffix("of 4.0K now, 8.0K configured, 1 entry") })
    #expect(shown.contains { $0.hasPrefix("held 14s ") })
  }

  @Test(arguments: [3, 24, 40])
  func `the keys are explained`(rows: Int) throws {
    var state = try state()
    state.showsKeys = true
    let shown = lines(state, 80, rows)
    #expect(shown.count == rows && shown.last == "q quit  p pause  ? numbers  every 1s")
    if rows > 10 {
      #expect(shown.contains("q, Ctrl-C   quit") && !shown.contains { $0.hasPrefix("hits ") })
    }
  }

  @Test func `a pause is shown`() throws {
    var state = try state()
    state.isPaused = true
    #expect(lines(state, 100, 40).last == "q quit  p go on  ? keys  paused")
  }

  @Test func `top needs a terminal`() {
    let run = imgctl(["top"])
    #expect(run.exitCode == .wrongUsage)
    #expect(run.messages.contains("imgctl stats --watch prints lines instead"))
    let verbose = imgctl(["top", "-v"], onTerminal: true)
    #expect(verbose.exitCode == .wrongUsage && verbose.messages.contains("add 2>FILE"))
  }
}
