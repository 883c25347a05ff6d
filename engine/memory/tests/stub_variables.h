/* SPDX-License-Identifier: Apache-2.0
 * What the variables STUB_DEVICES and STUB_FAIL say, for a stub that names STUB and SUCCESS. */
static int injected_failure(const char* call) {
    const char* plan = getenv(STUB "_FAIL");
    size_t length = strlen(call);
    return plan != NULL && strncmp(plan, call, length) == 0 && plan[length] == '=' ? atoi(plan + length + 1)
                                                                                   : SUCCESS;
}

#define FAIL_IF_INJECTED()                      \
    do {                                        \
        int code_ = injected_failure(__func__); \
        if (code_ != SUCCESS) return code_;     \
    } while (0)

static int devices(void) {
    const char* count = getenv(STUB "_DEVICES");
    return count == NULL ? 1 : atoi(count);
}
