// SPDX-License-Identifier: Apache-2.0
#include "watch/python.hpp"

#include <dlfcn.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "watch/file.hpp"
#include "watch/lock.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

using Object = void*;

/// Of CPython 3.9 and later. The optional ones are younger.
struct Interpreter {
    int (*is_initialized)();
    Object (*own_thread)();      ///< of this thread; needs no lock
    Object (*running_thread)();  ///< of the thread that holds the lock, seen from this one
    Object (*last_interpreter)();
    Object (*main_interpreter)();
    Object (*last_thread)(Object interpreter);
    Object (*earlier_thread)(Object thread);
    void (*take_lock)(Object thread);
    Object (*give_lock)();
    Object (*frame)();  ///< borrowed
    Object (*caller)(Object frame);
    Object (*code)(Object frame);
    int (*line)(Object frame);
    Object (*attribute)(Object object, const char* name);
    const char* (*utf8)(Object text, ssize_t* bytes);
    void (*drop)(Object object);
    void (*take_error)(Object* kind, Object* value, Object* trace);
    void (*give_error)(Object kind, Object value, Object trace);

    int (*instruction)(Object frame);  ///< optional
    int (*stop_collecting)();          ///< optional: where frames are made when they are asked for
    int (*collect_again)();            ///< optional
};

constinit Interpreter python{};
enum class Looked : std::uint8_t { no, missing, there };
constinit Looked looked = Looked::no;
constinit std::uint32_t times_looked = 0;

template <typename Function>
bool look(Function*& place, const char* name, const char* older = nullptr) {
    void* found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr && older != nullptr) found = dlsym(RTLD_DEFAULT, older);
    place = reinterpret_cast<Function*>(found);
    return found != nullptr;
}

bool look_for_python() {
    Interpreter& it = python;
    look(it.instruction, "PyFrame_GetLasti");
    const bool can_stop = look(it.stop_collecting, "PyGC_Disable") && look(it.collect_again, "PyGC_Enable");
    if (!can_stop) it.stop_collecting = nullptr;
    return look(it.is_initialized, "Py_IsInitialized") &&
           look(it.own_thread, "PyGILState_GetThisThreadState") &&
           look(it.running_thread, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
           look(it.last_interpreter, "PyInterpreterState_Head") &&
           look(it.main_interpreter, "PyInterpreterState_Main") &&
           look(it.last_thread, "PyInterpreterState_ThreadHead") &&
           look(it.earlier_thread, "PyThreadState_Next") && look(it.take_lock, "PyEval_RestoreThread") &&
           look(it.give_lock, "PyEval_SaveThread") && look(it.frame, "PyEval_GetFrame") &&
           look(it.caller, "PyFrame_GetBack") && look(it.code, "PyFrame_GetCode") &&
           look(it.line, "PyFrame_GetLineNumber") && look(it.attribute, "PyObject_GetAttrString") &&
           look(it.utf8, "PyUnicode_AsUTF8AndSize") && look(it.drop, "Py_DecRef") &&
           look(it.take_error, "PyErr_Fetch") && look(it.give_error, "PyErr_Restore");
}

/// The lock of the interpreter, if this thread has it or can have it without waiting for another one: a
/// binding gives it away for each call. A thread that waits for MPI may have it, so that to wait for the lock
/// could be to wait for ever.
class Held {
  public:
    Held() : errno_(errno) {
        if (python.is_initialized() == 0) return;
        own_ = python.own_thread();
        const Object main = python.main_interpreter();
        if (own_ == nullptr || main == nullptr || python.last_interpreter() != main) return;
        if (python.running_thread() == own_) {
            is_held_ = true;
        } else if (python.last_thread(main) == own_ && python.earlier_thread(own_) == nullptr) {
            python.take_lock(own_);
            is_held_ = is_taken_ = true;
        }
        if (is_held_ && python.stop_collecting != nullptr) collected_ = python.stop_collecting() != 0;
    }
    ~Held() {
        if (collected_) python.collect_again();
        if (is_taken_) python.give_lock();
        errno = errno_;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    explicit operator bool() const { return is_held_; }

  private:
    int errno_;
    Object own_ = nullptr;
    bool is_held_ = false, is_taken_ = false, collected_ = false;
};

/// An exception may be on its way while an object's end calls MPI.
class KeptError {
  public:
    KeptError() { python.take_error(&kind_, &value_, &trace_); }
    ~KeptError() { python.give_error(kind_, value_, trace_); }
    KeptError(const KeptError&) = delete;
    KeptError& operator=(const KeptError&) = delete;

  private:
    Object kind_ = nullptr, value_ = nullptr, trace_ = nullptr;
};

/// A text of a code object, without characters that would end the field; false: it has none.
template <std::size_t room>
bool read(Object code, const char* name, char (&text)[room]) {
    const Object value = python.attribute(code, name);
    if (value == nullptr) return false;
    ssize_t bytes = 0;
    const char* const found = python.utf8(value, &bytes);
    std::size_t used = 0;
    for (; found != nullptr && used < room - 1 && used < static_cast<std::size_t>(bytes); ++used)
        text[used] = static_cast<unsigned char>(found[used]) < ' ' ? '?' : found[used];
    text[used] = '\0';
    python.drop(value);
    return used > 0;
}

/// NUMBER, and for this frame and its callers: file, line and function.
void describe(std::uint16_t number, Object frame) {
    constexpr int most_frames = 4;
    char text[3600];
    int used = std::snprintf(text, sizeof text, "%u", number);
    const KeptError kept;
    Object held = nullptr;
    for (int depth = 0; frame != nullptr && depth < most_frames;) {
        const Object code = python.code(frame);
        char file[512] = "", function[256] = "";
        read(code, "co_filename", file);
        if (!read(code, "co_qualname", function)) read(code, "co_name", function);
        python.drop(code);
        const bool is_own = std::strncmp(file, "<frozen ", sizeof "<frozen " - 1) != 0;  // else an import's
        const auto left = sizeof text - static_cast<std::size_t>(used);
        const int more =
            is_own ? std::snprintf(text + used, left, "\t%s\t%d\t%s", file, python.line(frame), function) : 0;
        if (more > 0 && static_cast<std::size_t>(more) < left) used += more;
        text[used] = '\0';
        depth += is_own ? 1 : 0;
        const Object caller = python.caller(frame);
        if (held != nullptr) python.drop(held);
        frame = held = caller;
    }
    if (held != nullptr) python.drop(held);
    write_text("python", text);
}

struct Line {
    std::uint64_t key;  ///< code object and instruction
    std::uint16_t number;
};
constinit Table<Line, 256, 8192> lines{};
constinit std::uint16_t line_count = 0;
constinit SpinLock line_lock{};

std::uint64_t key_of(Object code, int at) {
    constexpr unsigned alignment = 4, room = 20;  // an instruction's offset takes no more bits
    const auto offset = static_cast<std::uint32_t>(at) & ((1U << room) - 1);
    return ((reinterpret_cast<std::uintptr_t>(code) >> alignment) << room | offset) + 1;
}

}  // namespace

bool is_python_there() {
    constexpr std::uint32_t most_looks = 64;  // it may come after MPI
    if (looked != Looked::there && times_looked < most_looks) {
        ++times_looked;
        looked = dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr && look_for_python() ? Looked::there
                                                                                         : Looked::missing;
    }
    return looked == Looked::there;
}

std::uint16_t find_python_line() {
    constexpr std::uint16_t most_lines = 1024;
    const Held held;
    if (!held) return 0;
    const Object frame = python.frame();
    if (frame == nullptr) return 0;
    const Object code = python.code(frame);
    const std::uint64_t key =
        key_of(code, python.instruction != nullptr ? python.instruction(frame) : python.line(frame));
    python.drop(code);
    std::uint16_t number = 0;
    {
        const SpinGuard guard(line_lock);
        Line* const known = lines.find(key);
        if (known != nullptr) return known->number;
        Line* const fresh = line_count < most_lines ? lines.put(key) : nullptr;
        if (fresh == nullptr) return 0;
        fresh->number = number = ++line_count;
    }
    describe(number, frame);
    return number;
}

void begin_python() {
    const SpinGuard guard(line_lock);
    lines.clear();
    line_count = 0;
    times_looked = 0;
}

}  // namespace slowpath::watch
