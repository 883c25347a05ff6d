// SPDX-License-Identifier: Apache-2.0
// Calls the functions of known.S as programs call MPI's: linked, opened, from threads, in a child, by a jump.
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void (*function)(void);

static function known(const char* library, const char* name) {
    void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const function found = opened == NULL ? NULL : (function)dlsym(opened, name);
    if (found == NULL) {
        fprintf(stderr, "program_calls: %s\n", dlerror());
        exit(3);
    }
    return found;
}

static void* call_often(void* given) {
    const function call = *(function*)given;
    for (int i = 0; i < 20; ++i) call();
    return NULL;
}

static jmp_buf before;

// The functions call nothing back, so the jump is from a signal's handler in the middle of a loop.
static void leave(int number) {
    (void)number;
    siglongjmp(before, 1);
}

int main(int count, char** arguments) {
    if (count < 3) return 2;
    const char* const library = arguments[1];
    const char* const how = arguments[2];
    const function ten = known(library, "known_ten");
    if (strcmp(how, "ten") == 0) {
        for (int i = 0; i < 5; ++i) ten();
    } else if (strcmp(how, "copy") == 0) {
        char from[37], to[37] = "";
        memset(from, 7, sizeof from);
        ((void (*)(void*, const void*))known(library, "known_copy"))(to, from);
        return memcmp(to, from, sizeof to) != 0;
    } else if (strcmp(how, "recursion") == 0) {
        for (int i = 0; i < 3; ++i) ((void (*)(int))known(library, "known_recursion"))(5);
    } else if (strcmp(how, "nested") == 0) {
        // Two names, one function.
        for (int i = 0; i < 3; ++i) known(library, "known_nested")();
    } else if (strcmp(how, "system_call") == 0) {
        for (int i = 0; i < 3; ++i) known(library, "known_system_call")();
    } else if (strcmp(how, "threads") == 0) {
        pthread_t threads[2];
        for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, call_often, (void*)&ten);
        for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    } else if (strcmp(how, "fork") == 0) {
        ten();
        if (fork() == 0) {
            ten();
            ten();
            exit(0);
        }
        int status;
        wait(&status);
        return WEXITSTATUS(status);
    } else if (strcmp(how, "blocked") == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        ten();
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        ten();
    } else if (strcmp(how, "own_handler") == 0) {
        ten();
        signal(SIGTRAP, leave);
        ten();
    } else if (strcmp(how, "jump") == 0) {
        signal(SIGALRM, leave);
        if (sigsetjmp(before, 1) == 0) {
            alarm(1);
            ((void (*)(int))known(library, "known_loop"))(1000000000);
        }
        ((void (*)(int))known(library, "known_loop"))(3);
    } else if (strcmp(how, "crash") == 0) {
        ten();
        abort();
    } else if (strcmp(how, "trap") == 0) {
        ten();
        raise(SIGTRAP);
    }
    return 0;
}
