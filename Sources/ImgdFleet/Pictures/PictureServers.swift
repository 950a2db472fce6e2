// Which server has which picture.
//
// Each server has a weight for each picture, of its name and the picture's digest, and the picture belongs to the one
// with the highest. So hosts agree without talking, and a server that comes or goes moves its own share alone. Weights
// are part of the protocol: hosts that reckon otherwise would look in other places.

internal import ImgdCache
internal import ImgdSystem

final class PictureServers {
  private let all: [PictureServer]
  /// Whether the pictures are where the log of purges is.
  let areWithLog: Bool
  private let places: PicturePlaces
  /// The servers of looks that are under way and of claims that are held; empty where there is only one server.
  private(set) var homes: [UInt64: PictureServer] = [:]

  /// Where no others are named, the fleet's own server has the pictures, over the link that it has already.
  init(of fleet: FleetServer, _ settings: FleetSettings, on loop: EventLoop, connect: @escaping Connect) {
    let links = settings.pictures.map { ServerLink(to: $0, for: .pictures, settings, on: loop, connect: connect) }
    areWithLog = links.isEmpty
    all = (links.isEmpty ? [fleet.link] : links).map { PictureServer($0, of: fleet) }
    places = PicturePlaces(names: settings.pictures.map(\.description))
    for server in all { server.onEnd = { [unowned self] serial in homes[serial] = nil } }
    for (number, link) in links.enumerated() {
      link.onState = { state in fleet.report(.pictures(server: number, state)) }
      link.onAcceptance = { [unowned link] _, _ in link.enter() }
      link.onLeave = { [unowned self] in all[number].failAll() }
      link.attempt()
    }
    fleet.onLeave = { [unowned self] in for server in all { server.failAll() } }
  }

  private var areSeveral: Bool { all.count > 1 }

  func server(of digest: KeyDigest) -> PictureServer { areSeveral ? all[places.index(of: digest)] : all[0] }

  func apply(maxObject: Int) {
    for server in all { server.link.apply(maxObject: maxObject) }
  }

  // MARK: Orders

  func begin(_ order: FleetLook) { home(of: order.serial, order.digest).looks.begin(order) }

  func begin(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64) {
    home(of: serial, digest).looks.begin(serial: serial, digest, replacing: stamp)
  }

  func renew(_ serial: UInt64) { home(of: serial)?.claims.renew(serial) }

  func release(_ serial: UInt64, removing: Bool) {
    guard let server = home(of: serial) else { return }
    homes[serial] = nil
    if !server.looks.drop(serial) { server.claims.release(serial, removing: removing) }
  }

  func store(_ store: FleetStore) {
    let server = homes.removeValue(forKey: store.serial) ?? server(of: store.record.digest)
    server.stores.store(store)
  }

  func remove(_ digest: KeyDigest) { server(of: digest).stores.remove(digest) }

  /// Gives back what is held, as far as the servers take it at once.
  func stop() {
    homes = [:]
    for server in all {
      server.looks.stop()
      server.stores.stop()
      server.claims.giveAllBack()
    }
  }

  func disconnect() {
    for server in all { server.link.stop() }
  }

  private func home(of serial: UInt64) -> PictureServer? { areSeveral ? homes[serial] : all[0] }

  private func home(of serial: UInt64, _ digest: KeyDigest) -> PictureServer {
    let server = server(of: digest)
    if areSeveral { homes[serial] = server }
    return server
  }

  /// Deletes the plain picture that a purge means, and the claims on it, where the script that has added the purge to the
  /// log cannot: nothing depends on it, since those who find the picture compare it with the purge.
  func unlink(meantByPurge digest: KeyDigest) {
    let server = server(of: digest)
    guard server.isWritable else { return }
    server.order(RedisCommand("UNLINK", server.keys.picture(digest), server.keys.refresh(digest)))
  }
}

/// Tells by rendezvous hashing which of some servers a picture belongs to.
struct PicturePlaces {
  /// A number for each server: of its name alone, whatever others there are.
  private let seeds: [UInt64]

  init(names: [String]) { seeds = names.map { Digest128(of: Array($0.utf8).span).low } }

  func index(of digest: KeyDigest) -> Int {
    var (best, highest) = (0, UInt64.min)
    for (index, seed) in seeds.enumerated() {
      let weight = Self.mixed(digest.low ^ seed)
      if weight >= highest { (best, highest) = (index, weight) }
    }
    return best
  }

  /// The end of MurmurHash3: each bit of the number changes each bit of the outcome with a probability of a half, and
  /// different numbers have different outcomes.
  private static func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed ^= mixed >> 33
    mixed &*= 0xFF51_AFD7_ED55_8CCD
    mixed ^= mixed >> 33
    mixed &*= 0xC4CE_B9FE_1A85_EC53
    return mixed ^ mixed >> 33
  }
}
