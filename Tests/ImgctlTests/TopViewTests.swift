import ImgdConnection
import ImgdMetrics
import ImgdSystem
import Testing

@testable import ImgctlCommands

@Suite struct TopViewTests {
  private let view = TopView(
    palette: Palette(.never, isTerminal: true, environment: [:]), glyphs: .blocks,
    delay: .seconds(1))
  private let time = LocalTime(secondsSince1970: 0)

  private func state(seconds: Int64 = 3) throws -> TopState {
    let fetches = try (1...50).map { number in
      let fetch = """
        {"receipt":"r","url":"http://h/\(number)/漢字\\u001b\(String(repeating: "x", count: 500))",\
        "state":"\(number > 2 ? "queued" : "running")","received":512,"expected":1024,"waiters":3,"age_ms":1500}
        """
      return try Reply(Array(fetch.utf8), from: "test")
    }
    var state = TopState(socket: "/run/imgd/imgd.sock")
    for second in 0..<seconds {
      let text = someStatistics.replacing(#""hits":70"#, with: #""hits":\#(70 + second * 40)"#)
        .replacing(#""misses":30"#, with: #""misses":\#(30 + second * 10)"#)
      state.show(try statistics(text, at: second), fetches)
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
    #expect(shown.contains("clients           3  answers: hit 9µs, slowest 1% 9µs, no fetch yet"))
    #expect(shown.contains { $0.hasPrefix("50 fetches, the oldest ") })
    #expect(
      shown.contains {
        $0.hasPrefix("██████        50.0%   512B        1s   3x  http://h/1/漢字\\x1bxxx")
      })
    #expect(shown.contains { $0.hasPrefix("queued") })
    #expect(shown.last == "q quit  p pause  every 1s")
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
    state.show(try statistics(at: 9), [])
    #expect(!lines(state, 100, 40).contains { $0.hasPrefix("no connection") })
  }

  @Test func `another process begins a new history`() throws {
    var state = try state()
    #expect(state.history.count == 2)
    state.show(try statistics(someStatistics.replacing(#""pid":7"#, with: #""pid":8"#), at: 9), [])
    #expect(state.history.isEmpty)
    #expect(lines(state, 100, 40).contains { $0.hasPrefix("hits              -") })
  }

  @Test func `a pause is shown`() throws {
    var state = try state()
    state.isPaused = true
    #expect(lines(state, 100, 40).last == "q quit  p go on  paused")
  }

  @Test func `top needs a terminal`() {
    let run = imgctl(["top"])
    #expect(run.exitCode == .wrongUsage)
    #expect(run.messages.contains("imgctl stats --watch prints lines instead"))
    let verbose = imgctl(["top", "-v"], onTerminal: true)
    #expect(verbose.exitCode == .wrongUsage && verbose.messages.contains("add 2>FILE"))
  }
}
