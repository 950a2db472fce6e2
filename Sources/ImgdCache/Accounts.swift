// What each user has in a tier. Room is shared between those who have something there.

/// The users for whom entries count.
package enum EntryOwner {
  /// Stands for those of whom nobody knows who asked first; no user has this number.
  static let nobody = UInt32.max
}

/// How much of a tier each user has, and whose each place is.
///
/// A place's account is kept only once there are two: the tier of a single user pays nothing for it.
struct Accounts {
  /// Users beyond these share the account after the last: a container has 65,536 of them.
  static let most = 254

  struct Account {
    fileprivate(set) var owner = EntryOwner.nobody
    fileprivate(set) var count = 0
    fileprivate(set) var cost = 0
  }

  private(set) var all = [Account()]
  private var numbers: [UInt32: UInt8] = [:]
  private var ofPlaces: [UInt8] = []
  /// How many have something.
  private(set) var users = 0

  var areSeveral: Bool { !ofPlaces.isEmpty }

  var heldBytes: Int { ofPlaces.capacity + all.capacity * MemoryLayout<Account>.stride + numbers.capacity * 8 }

  func number(at place: Int) -> Int { place < ofPlaces.count ? Int(ofPlaces[place]) : 0 }

  /// What a user has; nothing of its own for one of those who share an account.
  subscript(owner: UInt32) -> Account { numbers[owner].map { all[Int($0)] } ?? Account() }

  func holding(of owner: UInt32) -> Removal { Removal(entries: self[owner].count, bytes: self[owner].cost) }

  /// The room that each user may fill: nobody who has no more loses anything for others.
  func share(of capacity: Int) -> Int { capacity / max(users, 1) }

  /// The account that has most; nil if nobody has more than a share of a capacity. A single user has no share to go by.
  func fullest(sharing capacity: Int) -> Int? {
    guard users > 1 else { return users == 1 ? all.firstIndex { $0.count > 0 } : nil }
    guard let fullest = all.indices.max(by: { all[$0].cost < all[$1].cost }) else { return nil }
    return all[fullest].cost > share(of: capacity) ? fullest : nil
  }

  /// Counts an entry at a place that is free.
  mutating func add(_ place: Int, of owner: UInt32, costing cost: Int) {
    let number = open(owner)
    if number > 0 || areSeveral { assign(place, to: number) }
    all[number].count += 1
    all[number].cost += cost
    if all[number].count == 1 { users += 1 }
  }

  mutating func change(_ place: Int, by cost: Int) { all[number(at: place)].cost += cost }

  mutating func remove(_ place: Int, costing cost: Int) {
    let number = number(at: place)
    all[number].count -= 1
    all[number].cost -= cost
    guard all[number].count == 0 else { return }
    users -= 1
    if number < Self.most { numbers[all[number].owner] = nil }
  }

  /// The number of a user's account, which may be one that nobody needs any more.
  private mutating func open(_ owner: UInt32) -> Int {
    if let known = numbers[owner] { return Int(known) }
    let free = all.prefix(Self.most).firstIndex { $0.count == 0 }
    let number = free ?? all.count
    if number == all.count, number <= Self.most { all.append(Account()) }
    guard number < Self.most else { return Self.most }
    all[number].owner = owner
    numbers[owner] = UInt8(number)
    return number
  }

  private mutating func assign(_ place: Int, to number: Int) {
    if place >= ofPlaces.count { ofPlaces.append(contentsOf: repeatElement(0, count: place + 1 - ofPlaces.count)) }
    ofPlaces[place] = UInt8(number)
  }
}
