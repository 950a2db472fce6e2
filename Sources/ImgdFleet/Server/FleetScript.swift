internal import ImgdCache

/// Scripts, each of which the server runs as one undivided step. It keeps them by their text, parsed; sending a
/// digest instead would save three hundred bytes and need a second trip after each restart.
enum FleetScript: String {
  /// Renews a claim. Key: the claim's. Arguments: the claim, milliseconds.
  case renew = """
    if redis.call('GETRANGE', KEYS[1], 0, 127) ~= ARGV[1] then return 0 end
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
    """

  /// Stores a picture in place of a claim, and wakes the hosts that wait for it; what has a newer layout stays. Keys:
  /// the claim's, the picture's, the channel. Arguments: the claim, milliseconds, the newest layout, the value.
  case store = """
    if redis.call('GETRANGE', KEYS[1], 0, 127) ~= ARGV[1] then return 0 end
    local head = redis.call('GETRANGE', KEYS[2], 0, 4)
    if #head == 5 and string.sub(head, 1, 4) == 'IMGF' and string.byte(head, 5) > tonumber(ARGV[3]) then
      redis.call('DEL', KEYS[1])
      return 0
    end
    redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[2])
    if KEYS[1] ~= KEYS[2] then redis.call('DEL', KEYS[1]) end
    redis.call('PUBLISH', KEYS[3], '1')
    return 1
    """

  /// Stores a picture without a claim, unless another host has claimed it, the transfer of the stored one began later,
  /// or that has a newer layout. Keys: the picture's, the channel. Arguments: when it was begun, milliseconds, the
  /// newest layout, the value.
  case storeUnclaimed = """
    local head = redis.call('GETRANGE', KEYS[1], 0, 15)
    if string.sub(head, 1, 1) == '#' then return 0 end
    if string.sub(head, 1, 4) == 'IMGF' and #head == 16 then
      local begun = 0
      for place = 9, 16 do begun = begun * 256 + string.byte(head, place) end
      if begun > tonumber(ARGV[1]) or string.byte(head, 5) > tonumber(ARGV[3]) then return 0 end
    end
    redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[2])
    redis.call('PUBLISH', KEYS[2], '1')
    return 1
    """

  /// Gives a claim back without a picture. Keys: the claim's, the picture's, the channel. Arguments: the
  /// claim, the newest layout of a picture that goes, too: 0 if none does.
  case release = """
    if redis.call('GETRANGE', KEYS[1], 0, 127) ~= ARGV[1] then return 0 end
    redis.call('DEL', KEYS[1])
    local head = redis.call('GETRANGE', KEYS[2], 0, 4)
    if #head == 5 and string.sub(head, 1, 4) == 'IMGF' and string.byte(head, 5) <= tonumber(ARGV[2]) then
      redis.call('UNLINK', KEYS[2])
    end
    redis.call('PUBLISH', KEYS[3], '0')
    return 1
    """

  /// Gives a claim back that was not needed. Key: the claim's. Argument: the claim.
  case withdraw = """
    if redis.call('GETRANGE', KEYS[1], 0, 127) ~= ARGV[1] then return 0 end
    return redis.call('DEL', KEYS[1])
    """

  /// Deletes a picture, but not a claim, nor what has a newer layout. Key: the picture's. Argument: the newest layout.
  case remove = """
    local head = redis.call('GETRANGE', KEYS[1], 0, 4)
    if #head < 5 or string.sub(head, 1, 4) ~= 'IMGF' or string.byte(head, 5) > tonumber(ARGV[1]) then return 0 end
    return redis.call('UNLINK', KEYS[1])
    """

  /// Deletes a useless value unless it has changed. Key: the picture's. Argument: its first bytes, if it is a string.
  case discard = """
    local front = redis.pcall('GETRANGE', KEYS[1], 0, 71)
    if type(front) == 'table' then front = '' end
    if front ~= ARGV[1] then return 0 end
    return redis.call('UNLINK', KEYS[1])
    """

  /// Adds a purge to the log if the generation is still the same, and deletes the pictures that it is known to
  /// mean. Keys: the generation's, the stream, pictures and claims. Arguments: the generation, names and values.
  case purge = """
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', '10000', '0-*', unpack(ARGV, 2))
    for place = 3, #KEYS do redis.call('UNLINK', KEYS[place]) end
    return 1
    """

  /// Begins another life of the data, unless another host has done so; returns 0 if nothing can be written.
  /// Key: the generation's. Arguments: the generation, and the next one.
  case startAnew = """
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 1 end
    return redis.pcall('SET', KEYS[1], ARGV[2]).ok and 1 or 0
    """

  /// Returns the hosts, each with a colon and its line, and deletes lines that are too old, or cannot be told to be of any
  /// time; all of them where they are more than any fleet has, which would keep the server busy. Key: the list's.
  /// Arguments: the earliest and the latest time of a line, and how many hosts and bytes are returned.
  case hosts = """
    local count = redis.pcall('HLEN', KEYS[1])
    if type(count) == 'number' and count > 10000 then redis.call('UNLINK', KEYS[1]) end
    local all = redis.call('HGETALL', KEYS[1])
    local found = {}
    for place = 1, #all, 2 do
      local name, line = all[place], all[place + 1]
      local at = tonumber(string.match(line, '^at=(%d+)%s'))
      if not at or at < tonumber(ARGV[1]) or at > tonumber(ARGV[2]) then
        redis.pcall('HDEL', KEYS[1], name)
      elseif #found < tonumber(ARGV[3]) and #name <= 16 and #line <= tonumber(ARGV[4]) then
        found[#found + 1] = name .. ':' .. line
      end
    end
    return found
    """

  func command(keys: [String], _ arguments: [String] = []) -> RedisCommand {
    var command = RedisCommand("EVAL", rawValue, String(keys.count))
    for word in keys + arguments { command.add(word) }
    return command
  }
}

/// The names of everything that the server keeps for a fleet.
struct FleetKeys: Equatable {
  let namespace: String

  var purges: String { namespace + ":purges" }
  /// A line of each host about itself.
  var hosts: String { namespace + ":hosts" }
  /// A random number that is made when the data are new.
  var generation: String { namespace + ":generation" }
  /// Written to find out whether a server of pictures takes anything.
  var trial: String { namespace + ":trial" }

  /// A picture, or the claim of the host that fetches it.
  func picture(_ digest: KeyDigest) -> String { "\(namespace):p:\(digest.hex)" }

  /// The claim of the host that confirms a stored picture.
  func refresh(_ digest: KeyDigest) -> String { "\(namespace):r:\(digest.hex)" }

  /// The channel that wakes the hosts that wait for a picture.
  func wake(_ digest: KeyDigest) -> String { "\(namespace):w:\(digest.hex)" }
}
