/// A program that downloads a list of URLs into a directory, 16 at a time if it can.
struct DownloadTool {
  let name: String
  private let recipe: @Sendable (_ list: String, _ directory: String) -> [String]
  /// The list in the program's format.
  private let list: @Sendable (_ urls: [String], _ directory: String) -> String

  static let curl = DownloadTool(
    name: "curl",
    recipe: { list, _ in
      ["curl", "--silent", "--parallel", "--parallel-max", "16", "--config", list]
    },
    list: { urls, directory in
      urls.map { url in
        "url = \"\(url)\"\noutput = \"\(directory)/\(url.split(separator: "/").last ?? "")\"\n"
      }.joined()
    })

  static let aria2c = DownloadTool(
    name: "aria2c",
    recipe: { list, directory in
      ["aria2c", "--no-conf", "--quiet", "-j16", "-x1", "-i", list, "-d", directory]
    }, list: plain)

  static let wget = DownloadTool(
    name: "wget",
    recipe: { list, directory in ["wget", "-q", "-i", list, "-P", directory] }, list: plain)

  private static let plain: @Sendable ([String], String) -> String = { urls, _ in
    urls.joined(separator: "\n")
  }

  /// Downloads the URLs, checks the number of files, and returns the seconds.
  func run(_ bench: Bench, _ urls: [String]) throws(BenchFailure) -> Double {
    guard Child.exists(name) else { throw .unavailable("\(name) is missing") }
    let directory = try bench.directory(name)
    let file = bench.path("list")
    try File.write(Array(list(urls, directory).utf8), to: file)
    let start = now()
    try Child.finish(recipe(file, directory), log: bench.path("\(name).log"))
    let seconds = now() - start
    let files = File.names(in: directory).count
    guard files == urls.count else { throw .unavailable("\(name) left \(files) files") }
    return seconds
  }
}
