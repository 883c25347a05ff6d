# SPDX-License-Identifier: Apache-2.0
"""Runs a program and every process that it starts, and steps through the calls of one function (ptrace(2))."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.signals import Action, as_user_had, handled, held_back
from slowpath.core.system_calls import SYSTEM_CALLS
from slowpath.mpi.probe import Child
from slowpath.studies.counting.names import ElfFunctions


@dataclass(frozen=True)
class Call:
    """One call.

    number   counted from 1 in each process, those that were let through included
    stepped  instructions, each iteration of a rep-prefixed one counted; None: not counted, `reason` says why
    retired  the same with all iterations of a rep-prefixed instruction as one, as hardware counters have it
    """

    number: int
    thread: int
    stepped: int | None
    retired: int | None
    reason: str | None


@dataclass(frozen=True)
class SteppedFunction:
    """Instructions of one function, over all counted calls of a process."""

    library: str
    function: str
    stepped: int
    retired: int


@dataclass(frozen=True)
class Trouble:
    """Why the function of this library can't be counted; library None: all of the process."""

    library: str | None
    reason: str


@dataclass(frozen=True)
class ProcessCount:
    """One process that had the function.

    libraries  where the function was found, as paths
    calls_met  calls until counting ended; None: the process did not end in good order
    calls      those counted, in the order of their ends
    shares     of the counted calls, largest first
    system_calls  name -> how often the counted calls made it; instructions of the kernel are not counted
    """

    host: str
    pid: int
    rank: str | None
    program: str
    function: str
    skip: int
    libraries: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    calls_met: int | None
    calls: tuple[Call, ...]
    shares: tuple[SteppedFunction, ...]
    system_calls: dict[str, int] = field(default_factory=dict)

    @property
    def counted(self) -> tuple[Call, ...]:
        """The calls that have a number."""
        return tuple(call for call in self.calls if call.stepped is not None)


@dataclass(frozen=True)
class CallSpread:
    """Instructions per call. `distribution`: (instructions, calls), most frequent first, then by instructions."""

    calls: int
    median: float
    min: int
    max: int
    mean: float
    distribution: tuple[tuple[int, int], ...]


def spread(values: Iterable[int | None]) -> CallSpread | None:
    """Return the spread of the values that are there; None without any."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    times = Counter(known)
    return CallSpread(
        calls=len(known),
        median=statistics.median(known),
        min=min(known),
        max=max(known),
        mean=statistics.fmean(known),
        distribution=tuple(sorted(times.items(), key=lambda item: (-item[1], item[0]))),
    )


# The first that is set says the rank: Open MPI and PRRTE, PMI (MPICH, Intel MPI), PMIx, Slurm, PALS, Flux.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "PALS_RANKID", "FLUX_TASK_RANK")
_LEFT_BY_JUMP = "left by longjmp or an exception"
_CHOSEN = "one of several (STT_GNU_IFUNC)"
_TOO_LONG = "more instructions than --most"
_FORBIDDEN = "ptrace is forbidden here: docker run --cap-add SYS_PTRACE"

_TRACEME, _CONT, _SINGLESTEP, _SETOPTIONS, _GETEVENTMSG, _GETSIGINFO = 0, 7, 9, 0x4200, 0x4201, 0x4202
_GETREGS, _SETREGS = 12, 13
_EVENT_FORK, _EVENT_VFORK, _EVENT_CLONE, _EVENT_EXEC = 1, 2, 3, 4
_MAKES_ANOTHER = (_EVENT_FORK, _EVENT_VFORK, _EVENT_CLONE)
_OPTIONS = sum(1 << event for event in (*_MAKES_ANOTHER, _EVENT_EXEC)) | 1 << 20  # and PTRACE_O_EXITKILL
_ALL_CHILDREN = 0x40000000  # __WALL
_BY_BREAKPOINT, _STEPPED = 0x80, (1, 2)  # si_code: SI_KERNEL; TRAP_BRKPT, TRAP_TRACE
_RAX, _RIP, _RSP, _REGISTERS = 10, 16, 19, 27  # of user_regs_struct
_NAMES = SYSTEM_CALLS["x86_64"]
_BREAKPOINT = b"\xcc"  # int3
_LONGEST_INSTRUCTION = 15
_NEAR_BYTES = 1 << 20
_AT_PHDR, _AT_PHNUM, _AT_ENTRY = 3, 5, 9
_PT_DYNAMIC, _PT_PHDR, _DT_DEBUG = 2, 6, 21

_library = ctypes.CDLL(None, use_errno=True)
_library.ptrace.restype = ctypes.c_long
_library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_ptrace = _library.ptrace
_registers = (ctypes.c_uint64 * _REGISTERS)()
_about_signal = (ctypes.c_int32 * 32)()
_message = ctypes.c_ulong()


@dataclass(frozen=True)
class Wish:
    """What to count: `calls` calls of `function` in each process, after `skip` that are let through."""

    function: str
    calls: int
    skip: int
    most: int


class Instruction(NamedTuple):
    """repeated: rep-prefixed, so that each iteration is a step."""

    repeated: bool
    system_call: bool


def decoded(code: bytes) -> Instruction:
    """What must be known of an instruction (Intel SDM volume 2, REP and SYSCALL)."""
    prefixed = False
    for byte in code:
        if byte in (0xF2, 0xF3):
            prefixed = True
        elif byte not in (0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67) and byte & 0xF0 != 0x40:
            string = 0xA4 <= byte <= 0xA7 or 0xAA <= byte <= 0xAF or 0x6C <= byte <= 0x6F
            return Instruction(prefixed and string, code[:2] == b"\x0f\x05")
    return Instruction(False, False)


@lru_cache
def _functions_of(path: str) -> ElfFunctions:
    return ElfFunctions(Path(path))


def _is_near(first: int, other: int) -> bool:
    """On one stack, not on another that a library of light threads switched to."""
    return abs(first - other) < _NEAR_BYTES


class _Mapped(NamedTuple):
    begin: int
    end: int
    offset: int
    path: str


_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..x. ([0-9a-f]+) \S+ \d+ *(.*)")


class _Process:
    """One traced process: its memory, its libraries, the breakpoints in it, and what was counted."""

    def __init__(self, wish: Wish, pid: int, parent: _Process | None = None) -> None:
        self.wish, self.pid = wish, pid
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)
        # A forked child has the parent's memory, breakpoints included, but counts for itself.
        self.breakpoints: dict[int, tuple[str, bytes]] = dict(parent.breakpoints) if parent else {}
        self.looked_in: set[str] = set(parent.looked_in) if parent else set()
        self.instructions: dict[int, Instruction] = {}
        self.mapped: list[_Mapped] | None = None
        self.met = 0
        self.ended = False
        self.has_function = False
        self.libraries: list[str] = list(parent.libraries) if parent else []
        self.troubles: list[Trouble] = []
        self.calls: list[Call] = []
        self.stepped: Counter[tuple[str, int]] = Counter()  # by path and offset in it
        self.retired: Counter[tuple[str, int]] = Counter()
        self.system_calls: Counter[int] = Counter()
        self.program, self.rank = "", None
        with contextlib.suppress(OSError):
            self.program = os.readlink(f"/proc/{pid}/exe")
            words = dict(word.partition("=")[::2] for word in self._proc("environ").split("\0"))
            self.rank = next((words[name] for name in _RANKS if name in words), None)

    def _proc(self, name: str) -> str:
        return Path(f"/proc/{self.pid}/{name}").read_text(encoding="utf-8", errors="replace")

    def read(self, address: int, count: int) -> bytes:
        """Empty: nothing is mapped there."""
        try:
            return os.pread(self.memory, count, address)
        except (OSError, OverflowError):
            return b""

    def word(self, address: int) -> int:
        """0: nothing is mapped there."""
        return int.from_bytes(self.read(address, 8), "little")

    def place(self, address: int, purpose: str) -> None:
        if address not in self.breakpoints and (original := self.read(address, len(_BREAKPOINT))):
            self.breakpoints[address] = (purpose, original)
            self.put_back(address)

    def _write(self, address: int, code: bytes) -> None:
        with contextlib.suppress(OSError):  # the library is gone
            os.pwrite(self.memory, code, address)

    def lift(self, address: int) -> None:
        """The instruction as it was, to be executed once; put_back is the reverse."""
        if address in self.breakpoints:
            self._write(address, self.breakpoints[address][1])

    def put_back(self, address: int) -> None:
        if address in self.breakpoints:
            self._write(address, _BREAKPOINT)

    def remove(self, address: int) -> None:
        self.lift(address)
        self.breakpoints.pop(address, None)

    def stop_watching(self) -> None:
        """No more calls: all breakpoints go but those where calls under way go on."""
        for address in [address for address, (purpose, _) in self.breakpoints.items() if purpose != "resume"]:
            self.remove(address)

    def executable(self) -> list[_Mapped]:
        if self.mapped is None:
            mappings = [match for line in self._proc("maps").splitlines() if (match := _MAPPING.match(line))]
            self.mapped = [_Mapped(int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4]) for m in mappings]
        return self.mapped

    def look_for_function(self) -> None:
        """In what was mapped since the last time."""
        self.instructions.clear()
        self.mapped = None
        for mapped in self.executable():
            if not mapped.path.startswith("/") or mapped.path in self.looked_in:
                continue
            self.looked_in.add(mapped.path)
            functions = _functions_of(mapped.path)
            begin = functions.address_of_offset(mapped.offset)
            if begin is None:
                continue
            if functions.is_chosen_at_load(self.wish.function):
                self.has_function = True
                self.troubles.append(Trouble(mapped.path, _CHOSEN))
            for address in functions.addresses_named(self.wish.function):
                self.has_function = True
                self.place(address - begin + mapped.begin, "function")
                if mapped.path not in self.libraries:
                    self.libraries.append(mapped.path)

    def watch_start(self) -> None:
        """At the first instruction of the program itself the libraries that it is linked with are loaded."""
        if entry := self._auxiliary().get(_AT_ENTRY):
            self.place(entry, "entry")

    def watch_libraries(self) -> None:
        """The dynamic linker calls an empty function when its list of libraries changes (link.h, r_brk)."""
        values = self._auxiliary()
        base, dynamic = 0, 0
        for i in range(values.get(_AT_PHNUM, 0)):
            kind, _, _, address, *_ = struct.unpack("<IIQQQQQQ", self.read(values[_AT_PHDR] + 56 * i, 56))
            if kind == _PT_PHDR:
                base = values[_AT_PHDR] - address
            elif kind == _PT_DYNAMIC:
                dynamic = address
        at = base + dynamic
        while dynamic and (tag := self.word(at)):
            if tag == _DT_DEBUG and (changed := self.word(self.word(at + 8) + 16)):
                self.place(changed, "libraries changed")
            at += 16

    def _auxiliary(self) -> dict[int, int]:
        """getauxval(3)"""
        raw = Path(f"/proc/{self.pid}/auxv").read_bytes()
        return dict(struct.iter_unpack("<QQ", raw[: len(raw) // 16 * 16]))

    def instruction_at(self, address: int) -> Instruction:
        known = self.instructions.get(address)
        if known is None:
            code = self.read(address, _LONGEST_INSTRUCTION)
            if address in self.breakpoints:
                code = self.breakpoints[address][1] + code[1:]
            known = self.instructions[address] = decoded(code)
        return known

    def add(self, at: Mapping[int, list[int]], system_calls: Counter[int]) -> None:
        """The instructions and system calls of one call."""
        self.system_calls += system_calls
        for address, (stepped, retired) in at.items():
            mapped = next((mapping for mapping in self.executable() if mapping.begin <= address < mapping.end), None)
            place = (mapped.path, address - mapped.begin + mapped.offset) if mapped else ("", 0)
            self.stepped[place] += stepped
            self.retired[place] += retired

    def count(self) -> ProcessCount:
        sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        for place, stepped in self.stepped.items():
            sums[_name(*place)][0] += stepped
            sums[_name(*place)][1] += self.retired[place]
        shares = [SteppedFunction(*name, *both) for name, both in sums.items()]
        return ProcessCount(
            host=os.uname().nodename,
            pid=self.pid,
            rank=self.rank,
            program=self.program,
            function=self.wish.function,
            skip=self.wish.skip,
            libraries=tuple(self.libraries),
            troubles=tuple(self.troubles),
            calls_met=self.met if self.ended else None,
            calls=tuple(self.calls),
            shares=tuple(sorted(shares, key=lambda share: (-share.stepped, share.library, share.function))),
            system_calls={_NAMES.get(call, f"system call {call}"): n for call, n in self.system_calls.most_common()},
        )


@cache
def _name(path: str, offset: int) -> tuple[str, str]:
    """Library and function at a place in a file."""
    if not path.startswith("/"):
        return path or "?", "?"
    library, functions = path.rpartition("/")[2], _functions_of(path)
    address = functions.address_of_offset(offset)
    function = "?" if address is None else functions.function_at(address)
    return library, library + function if function.startswith("+") else function


@dataclass
class _Thread:
    """lifted: breakpoint to be put back after one step.  resume_at: where the call goes on after a signal's handler."""

    process: _Process
    inside: bool = False
    number: int = 0
    return_address: int = 0
    stack_at_return: int = 0
    lifted: int = 0
    resume_at: int = 0
    before: int = 0
    after_syscall: int = 0
    sums: list[int] = field(default_factory=lambda: [0, 0])
    at: dict[int, list[int]] = field(default_factory=dict)
    system_calls: Counter[int] = field(default_factory=Counter)


def _read_registers(thread: int) -> None:
    _ptrace(_GETREGS, thread, None, _registers)


class _Tracer:
    def __init__(self, wish: Wish, program: int) -> None:
        self.wish, self.program = wish, program
        self.processes: list[_Process] = []
        self.threads: dict[int, _Thread] = {}
        self.held: set[int] = set()  # stopped, but not known yet
        self.not_stopped_yet: set[int] = set()  # known, but their first stop is still to come

    def started(self, pid: int, parent: _Process | None = None) -> _Process:
        process = _Process(self.wish, pid, parent)
        self.processes.append(process)
        return process

    def run(self) -> int | None:
        """Trace to the end; the program's exit code, negative for a signal, None if nobody saw it."""
        ended = None
        while self.threads or self.held:
            try:
                thread, status = os.waitpid(-1, _ALL_CHILDREN)
            except ChildProcessError:
                break
            if os.WIFSTOPPED(status):
                self._on_stop(thread, status)
                continue
            if thread == self.program:
                ended = os.waitstatus_to_exitcode(status)
            gone = self.threads.pop(thread, None)
            if gone is not None and gone.process.pid == thread:
                gone.process.ended = True
                os.close(gone.process.memory)
        return ended

    def _on_stop(self, thread: int, status: int) -> None:
        number, now = os.WSTOPSIG(status), self.threads.get(thread)
        if now is None:
            # Its creator's event says what it is, and may come later: until then it waits.
            self.held.add(thread)
        elif event := status >> 16:
            self._on_event(thread, now, event)
            self._go_on(thread, self.threads[thread])
        elif number == signal.SIGSTOP and thread in self.not_stopped_yet:
            self.not_stopped_yet.discard(thread)
            self._go_on(thread, now)
        elif number == signal.SIGTRAP and self._on_trap(thread, now):
            self._go_on(thread, now)
        else:
            if now.inside and not now.resume_at:
                # A handler is not part of the call: it runs unstepped until it is back.
                _read_registers(thread)
                now.resume_at = _registers[_RIP]
                now.process.place(now.resume_at, "resume")
            self._go_on(thread, now, number)

    def _go_on(self, thread: int, now: _Thread, number: int = 0) -> None:
        step = now.lifted or (now.inside and not now.resume_at)
        _ptrace(_SINGLESTEP if step else _CONT, thread, None, number)

    def begin(self, pid: int) -> None:
        """A program that has just been loaded; nothing of its process is as before."""
        process = self.started(pid)
        process.watch_start()
        self.threads[pid] = _Thread(process)

    def _on_event(self, thread: int, now: _Thread, event: int) -> None:
        if event == _EVENT_EXEC:
            if now.process.pid == thread:
                os.close(now.process.memory)
            return self.begin(thread)
        if event not in _MAKES_ANOTHER:
            return None
        _ptrace(_GETEVENTMSG, thread, None, ctypes.addressof(_message))
        made = _message.value
        process = now.process if _process_of(made) == now.process.pid else self.started(made, now.process)
        self.threads[made] = _Thread(process)
        if made in self.held:
            self.held.discard(made)
            self._go_on(made, self.threads[made])
        else:
            self.not_stopped_yet.add(made)
        return None

    def _on_trap(self, thread: int, now: _Thread) -> bool:
        _ptrace(_GETSIGINFO, thread, None, _about_signal)
        _read_registers(thread)
        code = _about_signal[2]
        if code == _BY_BREAKPOINT:
            address = _registers[_RIP] - len(_BREAKPOINT)  # reported with the address behind it
            if address not in now.process.breakpoints:
                return False
            _registers[_RIP] = address
            _ptrace(_SETREGS, thread, None, _registers)
            self._on_breakpoint(thread, now, address, now.process.breakpoints[address][0])
            return True
        if code not in _STEPPED:
            return False
        self._on_step(thread, now)
        return True

    def _on_breakpoint(self, thread: int, now: _Thread, address: int, purpose: str) -> None:
        process = now.process
        if now.resume_at == address:
            now.resume_at = 0
            if purpose == "resume":
                return process.remove(address)
        if purpose == "entry":
            process.remove(address)
            process.look_for_function()
            return process.watch_libraries()
        if purpose == "libraries changed":
            process.look_for_function()
        # Another thread put the breakpoint back before this one's first instruction: the same call still.
        if now.lifted == address:
            return process.lift(address)
        if purpose == "function":
            # Where the stack is as high as before the call that is being counted, that one was left without a return.
            before_call = _registers[_RSP] + 8
            if now.inside and before_call >= now.stack_at_return and _is_near(before_call, now.stack_at_return):
                self._end_call(thread, now, _LEFT_BY_JUMP)
            if not now.inside:
                process.met += 1
                last = self.wish.skip + self.wish.calls
                if self.wish.skip < process.met <= last:
                    self._begin_call(now, address)
                if process.met >= last:
                    return process.stop_watching()
        process.lift(address)
        now.lifted = address
        return None

    def _begin_call(self, now: _Thread, address: int) -> None:
        stack = _registers[_RSP]
        now.inside, now.number = True, now.process.met
        now.return_address, now.stack_at_return = now.process.word(stack), stack + 8
        now.before = now.after_syscall = 0
        now.sums, now.at, now.system_calls = [0, 0], {}, Counter()
        self._note(now, address)

    def _note(self, now: _Thread, address: int) -> None:
        instruction = now.process.instruction_at(address)
        retired = not (instruction.repeated and address == now.before)
        times = now.at.setdefault(address, [0, 0])
        for sums in (now.sums, times):
            sums[0] += 1
            sums[1] += retired
        now.before = address
        now.after_syscall = 0
        if instruction.system_call:
            now.after_syscall = address + 2
            now.system_calls[_registers[_RAX]] += 1  # it is about to be made: its number

    def _on_step(self, thread: int, now: _Thread) -> None:
        if now.lifted:
            now.process.put_back(now.lifted)
            now.lifted = 0
        if not now.inside:
            return
        address, stack = _registers[_RIP], _registers[_RSP]
        # Kernels differ in whether they stop after a system call or one instruction later.
        if now.after_syscall and address != now.after_syscall:
            self._note(now, now.after_syscall)
        now.after_syscall = 0
        if address == now.return_address and stack == now.stack_at_return:
            self._end_call(thread, now, None)
        elif stack > now.stack_at_return and _is_near(stack, now.stack_at_return):
            self._end_call(thread, now, _LEFT_BY_JUMP)
        elif now.sums[0] >= self.wish.most:
            self._end_call(thread, now, _TOO_LONG)
        else:
            self._note(now, address)

    def _end_call(self, thread: int, now: _Thread, reason: str | None) -> None:
        now.inside = False
        if now.resume_at and now.process.breakpoints.get(now.resume_at, ("",))[0] == "resume":
            now.process.remove(now.resume_at)  # the handler left by a jump
        now.resume_at = 0
        stepped, retired = now.sums if reason is None else (None, None)
        now.process.calls.append(Call(now.number, thread, stepped, retired, reason))
        if reason is None:
            now.process.add(now.at, now.system_calls)


def _process_of(thread: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{thread}/status").read_text().splitlines():
            if line.startswith("Tgid:"):
                return int(line.split()[1])
    return thread


def count_calls(
    wish: Wish, command: Sequence[str], environ: Mapping[str, str], output_to_stderr: bool
) -> tuple[int, list[ProcessCount]]:
    """Run to the end; exit code, negative for a signal, and the processes that have the function, by rank.

    Streams and all open files are handed on, as PMI needs.
    Raises: UsageError: there is no such program.  EnvironmentFailure: it can't be started or traced.  ExitUnseen.
    """
    if platform.machine() != "x86_64":
        raise EnvironmentFailure(f"{platform.machine()}: calls are counted on x86-64 only")
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        raise UsageError(f"{command[0]}: no such program; give the command after --")
    with contextlib.ExitStack() as undone:
        with held_back() as mask:
            prepare = as_user_had(mask)

            def begin_traced() -> None:
                prepare()
                if _ptrace(_TRACEME, 0, None, None) != 0:
                    raise OSError(_FORBIDDEN)

            try:
                child = Child(
                    list(command),
                    env=dict(environ),
                    stdout=sys.stderr.fileno() if output_to_stderr else None,
                    close_fds=False,
                    preexec_fn=begin_traced,
                )
            except OSError as error:
                raise EnvironmentFailure(f"{command[0]} can't be started: {error.strerror or error}") from error
            except subprocess.SubprocessError as error:
                raise EnvironmentFailure(_FORBIDDEN) from error
            undone.enter_context(handled(_while_it_runs(child.pid)))
        # It has stopped after exec.
        _, status = os.waitpid(child.pid, _ALL_CHILDREN)
        if not os.WIFSTOPPED(status) or _ptrace(_SETOPTIONS, child.pid, None, _OPTIONS) != 0:
            raise EnvironmentFailure(_FORBIDDEN)
        tracer = _Tracer(wish, child.pid)
        tracer.begin(child.pid)
        _ptrace(_CONT, child.pid, None, None)
        ended = tracer.run()
        child.returncode = child.wait() if ended is None else ended
        counts = [process.count() for process in tracer.processes if process.has_function or process.met]
        return child.returncode, sorted(counts, key=_order)


def _order(count: ProcessCount) -> tuple[bool, int, int]:
    number = int(count.rank) if count.rank is not None and count.rank.isdecimal() else 0
    return count.rank is None, number, count.pid


def _while_it_runs(child: int) -> dict[signal.Signals, Action]:
    """Ctrl-C reaches the program by itself, the others are handed on: what it has done until then is shown."""
    handed = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    return {signal.SIGINT: signal.SIG_IGN, **dict.fromkeys(handed, lambda number, _: os.kill(child, number))}


def exit_code(counts: Sequence[ProcessCount], function: str, ended: int) -> int:
    """0, where something was counted or nothing was called.

    ended: the program's exit code, negative for a signal.
    Raises: EnvironmentFailure: the program failed, no process had the function, or no call could be counted.
    """
    if ended != 0:
        how = _signal(-ended) if ended < 0 else f"exit code {ended}"
        raise EnvironmentFailure(f"the program failed ({how}); counts cover the time until then")
    if not counts:
        raise EnvironmentFailure(
            f"no process here has a function {function}; try mpi_put_ for Fortran, or LAUNCHER slowpath count ... -- "
            "PROGRAM"
        )
    hopeless = [count for count in counts if not count.counted and (count.troubles or count.calls)]
    if hopeless and not any(count.counted for count in counts):
        raise EnvironmentFailure(f"no call of {function} counted (reasons above)")
    return 0


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
