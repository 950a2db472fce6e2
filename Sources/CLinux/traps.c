// The last line of a program that one of its own mistakes ends: by which signal, in which thread, and where.
//
// Places are offsets into a file, and the program's file is named by its build ID, so that they can be read with the
// line tables of that build, long after. Everything here may be called in a signal handler: nothing is allocated, no lock
// is taken, and memory is read through the kernel, since what is wrong may be the stack.

#define _GNU_SOURCE
#include "CLinux.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

enum { most_frames = 16, room_for_stack = 64 << 10 };

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
static const char *program;
static int is_stream;
static const char digits[] = "0123456789abcdef";
static char build[41];

struct line {
  size_t count;
  char text[1024];
};

static void put(struct line *line, const char *text) {
  while (*text && line->count < sizeof line->text - 1) line->text[line->count++] = *text++;
}

static void put_hex(struct line *line, uintptr_t number) {
  char text[20] = {0}, *first = text + sizeof text - 1;
  do *--first = digits[number & 15];
  while (number >>= 4);
  put(line, "0x");
  put(line, first);
}

// An address as an offset into the file that it is in; without one, code that was made up or an address that is none.
static void put_place(struct line *line, uintptr_t address) {
  struct dl_find_object found;
  put(line, " ");
  if (_dl_find_object((void *)address, &found) != 0) return put_hex(line, address);
  const char *path = found.dlfo_link_map->l_name, *slash = strrchr(path, '/');
  put(line, *path == 0 ? program : slash ? slash + 1 : path);
  put(line, "+");
  put_hex(line, address - found.dlfo_link_map->l_addr);
}

// Through a pipe, which refuses what is no memory; calls for memory of processes are closed to a service.
static size_t copy(uintptr_t from, void *to, size_t count) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return 0;
  ssize_t copied = write(ends[1], (const void *)from, count);
  if (copied > 0) copied = read(ends[0], to, (size_t)copied);
  close(ends[0]);
  close(ends[1]);
  return copied < 0 ? 0 : (size_t)copied;
}

static int is_of_program(uintptr_t address) {
  struct dl_find_object in;
  return _dl_find_object((void *)address, &in) == 0 && *in.dlfo_link_map->l_name == 0;
}

// The first frame of the program's above a place on the stack: code of libraries keeps something else in its register. A
// frame begins with the address of the one above it, and the address to return to.
static uintptr_t first_frame(uintptr_t stack) {
  uintptr_t words[512];
  size_t count = copy(stack & ~7UL, words, sizeof words) / sizeof *words;
  for (size_t place = 0; place + 1 < count; place++) {
    uintptr_t here = (stack & ~7UL) + place * sizeof *words;
    if (words[place] > here && words[place] - here < 1 << 20 && is_of_program(words[place + 1])) return here;
  }
  return 0;
}

// Where it happened, and who called that.
static void put_places(struct line *line, const ucontext_t *context) {
#if defined(__x86_64__)
  const greg_t *registers = context->uc_mcontext.gregs;
  uintptr_t place = registers[REG_RIP], frame = registers[REG_RBP], stack = registers[REG_RSP];
#else
  uintptr_t place = context->uc_mcontext.pc, frame = context->uc_mcontext.regs[29], stack = context->uc_mcontext.sp;
#endif
  put_place(line, place);
  uintptr_t pair[2];
  if (copy(frame, pair, sizeof pair) != sizeof pair || !is_of_program(pair[1])) frame = first_frame(stack);
  for (int count = 0; count < most_frames && copy(frame, pair, sizeof pair) == sizeof pair && pair[1]; count++) {
    // One less: the call, and not what follows it.
    put_place(line, pair[1] - 1);
    if (pair[0] <= frame) return;
    frame = pair[0];
  }
}

// The signal is blocked until this returns, and then ends the process where it was: as the manager, and a core, see it.
static void say_last_words(int number, siginfo_t *info, void *context) {
  struct line line = {0};
  char thread[16] = "";
  prctl(PR_GET_NAME, thread);
  put(&line, is_stream ? "<3>" : program);
  put(&line, is_stream ? "ended by SIG" : ": error: ended by SIG");
  put(&line, sigabbrev_np(number));
  if (info->si_code <= 0 && info->si_pid != getpid()) put(&line, ", which another process has sent,");
  put(&line, " in thread ");
  put(&line, thread);
  put(&line, " of build ");
  put(&line, build);
  put(&line, ", at");
  put_places(&line, context);
  line.text[line.count++] = '\n';
  if (write(STDERR_FILENO, line.text, line.count) < 0) {}
  raise(number);
}

// The program is the first object, and its build ID a note in it.
static int find_build(struct dl_phdr_info *object, size_t size, void *unused) {
  for (int part = 0; part < object->dlpi_phnum; part++) {
    const char *note = (const char *)(object->dlpi_addr + object->dlpi_phdr[part].p_vaddr);
    const char *end = note + object->dlpi_phdr[part].p_memsz;
    while (object->dlpi_phdr[part].p_type == PT_NOTE && note < end) {
      const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)note;
      const unsigned char *id = (const unsigned char *)(head + 1) + ((head->n_namesz + 3) & ~3U);
      note = (const char *)id + ((head->n_descsz + 3) & ~3U);
      for (size_t byte = 0; head->n_type == NT_GNU_BUILD_ID && byte < head->n_descsz && byte < 20; byte++) {
        build[2 * byte] = digits[id[byte] >> 4];
        build[2 * byte + 1] = digits[id[byte] & 15];
      }
    }
  }
  return 1;
}

void *linux_reserve_stack(void) {
  stack_t before;
  if (sigaltstack(NULL, &before) != 0 || !(before.ss_flags & SS_DISABLE)) return NULL;
  void *room = mmap(NULL, room_for_stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return NULL;
  const stack_t stack = {.ss_sp = room, .ss_size = room_for_stack};
  sigaltstack(&stack, NULL);
  return room;
}

void linux_release_stack(void *room) {
  if (!room) return;
  const stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  munmap(room, room_for_stack);
}

void linux_tell_traps(const char *name, int to_journal) {
  program = name;
  is_stream = to_journal;
  dl_iterate_phdr(find_build, NULL);
  linux_reserve_stack();
  struct sigaction action = {.sa_sigaction = say_last_words, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
  for (size_t place = 0; place < sizeof signals / sizeof *signals; place++) {
    struct sigaction before;
    // A sanitizer, for instance, has handlers of its own already: they stay.
    if (sigaction(signals[place], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(signals[place], &action, NULL);
  }
}
