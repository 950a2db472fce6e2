// What the process keeps itself from, in layers, so that a hole in one of them is not a way out:
//
// - process: it gains no rights by starting a program, cannot be looked into, and is killed with its parent;
// - limits: memory, the size and the number of files;
// - files: Landlock, with no rule at all, so that no name leads to a file, nor an address to a service;
// - calls: a filter of system calls, which permits only what computing and the channel need.
//
// Landlock applies to the thread that asks for it and to those that it starts: so there must be no other one yet.

import CLinux
import CSeccomp
import Glibc
import ImgdDecode
import ImgdSystem

enum Sandbox {
  /// The number of the channel from here on.
  private static let channel: CInt = 3
  /// An order takes three: its picture, what is made of it, and one more while that is sealed.
  private static let descriptors: UInt64 = 16
  private static let priority: CInt = 10

  /// Ties the process to its parent's life and drops what came from it; nil if the parent is gone already.
  static func begin(channel number: CInt) -> DecodeChannel? {
    _ = linux_die_with_parent()
    guard fcntl(number, F_GETFD) >= 0, linux_keep_descriptor(number, channel) == 0 else { return nil }
    _ = clearenv()
    // An arena for each thread would reserve 64 MB of addresses.
    linux_limit_arenas(2)
    return DecodeChannel(FileDescriptor(owning: channel))
  }

  /// Shuts the process off and returns the layers that hold, each of which was checked.
  static func shut(memory: Int) -> DecoderAbilities.Layers {
    var layers: DecoderAbilities.Layers = []
    let isAlone = AddressSpace.isThreadAlone()
    let most = UInt64(clamping: memory).addingReportingOverflow(AddressSpace.mapped)
    if !most.overflow, linux_limit_process(most.partialValue, UInt64(clamping: memory), descriptors) == 0 {
      layers.insert(.limits)
    }
    if linux_give_up_rights() == 0, linux_has_given_up_rights() != 0 { layers.insert(.process) }
    if isAlone, linux_give_up_files() == 0, isWithoutFiles { layers.insert(.files) }
    // The last step: where a machine is busy, a start with this priority would take longer than the daemon waits for it.
    linux_lower_priority(priority)
    if CallFilter.load(), isWithoutCalls { layers.insert(.calls) }
    return layers
  }

  private static var isWithoutFiles: Bool {
    let root = unsafe open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard root >= 0 else { return errno == EACCES }
    close(root)
    return false
  }

  /// Tries a call that cannot fail without the filter.
  private static var isWithoutCalls: Bool { getppid() < 0 }
}

// A call that is not named here fails with EPERM: libraries try this and that, and go on without it. A call that no
// decoder ever makes, but an intruder would, ends the process.

/// The filter of system calls, for all threads of the process.
enum CallFilter {
  /// May be called at any time, with any arguments.
  private static let allowed = [
    // Memory and threads.
    "brk", "munmap", "mremap", "madvise", "futex", "membarrier", "set_robust_list", "rseq", "rt_sigaction",
    "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "exit", "exit_group", "gettid", "getpid", "sched_yield",
    "sched_getaffinity", "restart_syscall",
    // Time, and randomness.
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "getrandom",
    // The channel, and the memory that travels over it.
    "recvmsg", "sendmsg", "read", "write", "close", "lseek", "memfd_create", "ftruncate",
  ]

  /// May be called for one purpose: the argument with this number, under the mask, must have the value.
  private static let bound: [(call: String, argument: UInt32, mask: UInt64, value: UInt64)] = [
    ("mmap", 2, UInt64(PROT_EXEC), 0),
    ("mprotect", 2, UInt64(PROT_EXEC), 0),
    ("clone", 0, 0x1_0000, 0x1_0000),  // CLONE_THREAD
    // Without an address: to nobody but the other end.
    ("sendto", 4, .max, 0),
    ("fcntl", 1, .max, UInt64(F_GETFD)),
    ("fcntl", 1, .max, UInt64(F_GETFL)),
    ("fcntl", 1, .max, 1_033),  // F_ADD_SEALS
    ("fcntl", 1, .max, 1_034),  // F_GET_SEALS
    ("prctl", 0, .max, 15),  // PR_SET_NAME
    // A process that aborts sends the signal to itself.
    ("tgkill", 0, .max, UInt64(getpid())),
  ]

  private static let fatal = [
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev", "socket", "socketpair",
    "connect", "bind", "listen", "accept", "accept4", "open_by_handle_at", "bpf", "perf_event_open", "userfaultfd",
    "io_uring_setup", "keyctl", "add_key", "request_key", "mount", "umount2", "pivot_root", "chroot", "setns",
    "unshare", "init_module", "finit_module", "kexec_load", "pidfd_open", "pidfd_getfd", "personality", "kill", "tkill",
  ]

  /// False where the kernel has no filters.
  static func load() -> Bool {
    guard let filter = unsafe seccomp_init(failing(EPERM)) else { return false }
    defer { unsafe seccomp_release(filter) }
    // For the threads that a library may have started, too; and as a tree, since some calls are made often.
    guard unsafe seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0 else { return false }
    _ = unsafe seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2)
    for call in allowed { guard unsafe add(filter, SCMP_ACT_ALLOW, call) else { return false } }
    for rule in bound {
      let condition = scmp_arg_cmp(arg: rule.argument, op: SCMP_CMP_MASKED_EQ, datum_a: rule.mask, datum_b: rule.value)
      guard unsafe add(filter, SCMP_ACT_ALLOW, rule.call, [condition]) else { return false }
    }
    for call in fatal { guard unsafe add(filter, SCMP_ACT_KILL_PROCESS, call) else { return false } }
    // The flags of `clone3` are in memory, where a filter cannot see them: glibc then falls back to `clone`.
    guard unsafe add(filter, failing(ENOSYS), "clone3") else { return false }
    return unsafe seccomp_load(filter) == 0
  }

  private static func failing(_ code: CInt) -> UInt32 { 0x0005_0000 | UInt32(code) }

  /// A call that this architecture does not have needs no rule.
  private static func add(
    _ filter: scmp_filter_ctx, _ action: UInt32, _ call: String, _ conditions: [scmp_arg_cmp] = []
  ) -> Bool {
    let number = unsafe seccomp_syscall_resolve_name(call)
    guard number >= 0 else { return true }
    return unsafe seccomp_rule_add_array(filter, action, number, UInt32(conditions.count), conditions) == 0
  }
}

enum AddressSpace {
  /// The bytes of addresses in use; 0 where the kernel does not say.
  static var mapped: UInt64 { field("VmSize:").map { $0 * 1_024 } ?? 0 }

  /// Whether there is no other thread. A thread that has been joined may still be counted for a moment.
  static func isThreadAlone() -> Bool {
    for _ in 0..<patience {
      guard let threads = field("Threads:") else { return false }
      if threads == 1 { return true }
      usleep(1_000)
    }
    return false
  }

  /// How many milliseconds other threads are given to disappear.
  private static let patience = 200

  private static func field(_ name: String) -> UInt64? {
    let file = unsafe open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var room = [UInt8](repeating: 0, count: 8_192)
    let count = unsafe read(file, &room, room.count)
    let text = String(decoding: room.prefix(max(0, count)), as: UTF8.self)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
    return line.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst().first.flatMap { UInt64($0) }
  }
}

/// An attempt to do what a decoder must not be able to do, made from inside its sandbox, by a test.
enum SandboxTrial: String, CaseIterable {
  case readFile = "read-file"
  case writeFile = "write-file"
  case lookAtFile = "look-at-file"
  case listDirectory = "list-directory"
  case runCode = "run-code"
  case startProcess = "start-process"
  case startProgram = "start-program"
  case connect
  case signalParent = "signal-parent"
  case traceParent = "trace-parent"
  case takeMemory = "take-memory"
  case takeDescriptors = "take-descriptors"
  case readEnvironment = "read-environment"

  /// What came of it: `done`, or the number of the error.
  func attempt() -> DecodeFailure {
    errno = 0
    return DecodeFailure(.damaged, attempt() ? "done" : "\(errno)")
  }

  private func attempt() -> Bool {
    switch self {
    case .readFile: unsafe open("/etc/passwd", O_RDONLY) >= 0
    case .writeFile: unsafe open("/tmp/imgd-decoder-trial", O_WRONLY | O_CREAT, 0o600) >= 0
    case .lookAtFile: (try? FileStatus.of(path: "/etc/passwd")) != nil
    case .listDirectory: unsafe opendir("/") != nil
    case .runCode:
      unsafe mmap(nil, 4_096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED
    case .startProcess: linux_fork() >= 0
    case .startProgram: linux_exec_true() == 0
    case .connect: socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0) >= 0
    case .signalParent: kill(getppid(), 0) == 0
    case .traceParent: linux_trace(getppid()) == 0
    case .takeMemory: unsafe malloc(64 << 30) != nil
    case .takeDescriptors: (0..<100).allSatisfy { _ in unsafe linux_memfd("trial") >= 0 }
    case .readEnvironment: unsafe getenv("PATH") != nil
    }
  }
}
