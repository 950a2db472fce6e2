import ImgdTestSupport
import Testing

/// A page of the documentation, whose programs are run as they stand there.
struct DocumentPage {
  private let lines: [Substring]

  /// Reads a file of docs.
  init(_ name: String) throws {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    let text = try #require(read(root + "/docs/" + name))
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The blocks of a language below a heading of any depth, up to the next one.
  func blocks(_ language: String, under heading: String) -> [String] {
    var (blocks, block): ([String], [Substring]?) = ([], nil)
    var (isBelow, fence) = (false, Substring?.none)
    for line in lines {
      if let opening = fence {
        if line == "```" {
          if let block, opening == language { blocks.append(block.joined(separator: "\n") + "\n") }
          (fence, block) = (nil, nil)
        } else {
          block?.append(line)
        }
      } else if line.hasPrefix("```") {
        fence = line.dropFirst(3)
        block = isBelow ? [] : nil
      } else if line.hasPrefix("#") {
        isBelow = line.drop { $0 == "#" } == " " + heading
      }
    }
    return blocks
  }
}
