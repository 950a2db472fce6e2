// A call that is not named here fails with EPERM: libraries try this and that, and go on without it. A call that no
// decoder ever makes, but an intruder would, ends the process.

import CSeccomp
import Glibc

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
