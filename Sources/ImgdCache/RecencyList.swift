/// Images from the most to the least recently used, linked by their places in one array.
struct RecencyList {
  private struct Node {
    var image: CachedImage?
    var newer: Int32 = -1
    var older: Int32 = -1
    /// Counts insertions, so that a page of entries has a place to go on from.
    var number: UInt64 = 0
  }

  private var nodes: [Node] = []
  private var free: [Int32] = []
  private var newest: Int32 = -1
  private var oldest: Int32 = -1
  private var lastNumber: UInt64 = 0

  subscript(place: Int32) -> CachedImage? { nodes[Int(place)].image }

  var last: CachedImage? { oldest < 0 ? nil : nodes[Int(oldest)].image }

  mutating func insertAtFront(_ image: CachedImage) -> Int32 {
    lastNumber += 1
    let node = Node(image: image, number: lastNumber)
    let place: Int32
    if let reused = free.popLast() {
      place = reused
      nodes[Int(place)] = node
    } else {
      place = Int32(nodes.count)
      nodes.append(node)
    }
    linkAtFront(place)
    return place
  }

  mutating func moveToFront(_ place: Int32) {
    guard place != newest else { return }
    unlink(place)
    linkAtFront(place)
  }

  mutating func remove(_ place: Int32) {
    unlink(place)
    nodes[Int(place)].image = nil
    free.append(place)
  }

  func forEach(_ body: (CachedImage) -> Void) {
    for node in nodes { if let image = node.image { body(image) } }
  }

  func forEachNumbered(_ body: (UInt64, CachedImage) -> Void) {
    for node in nodes { if let image = node.image { body(node.number, image) } }
  }

  private mutating func linkAtFront(_ place: Int32) {
    nodes[Int(place)].newer = -1
    nodes[Int(place)].older = newest
    if newest >= 0 { nodes[Int(newest)].newer = place } else { oldest = place }
    newest = place
  }

  private mutating func unlink(_ place: Int32) {
    let (newer, older) = (nodes[Int(place)].newer, nodes[Int(place)].older)
    if newer >= 0 { nodes[Int(newer)].older = older } else { newest = older }
    if older >= 0 { nodes[Int(older)].newer = newer } else { oldest = newer }
  }
}
