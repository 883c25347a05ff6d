// SPDX-License-Identifier: Apache-2.0
// Functions whose instructions can be counted by reading.
    .text
    .macro function name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro end name
    .cfi_endproc
    .size \name, . - \name
    .endm

    // 1
function known_nothing
    ret
end known_nothing

    // 10
function known_ten
    .rept 9
    nop
    .endr
    ret
end known_ten

    // 3 retired; 39 stepped: 37 bytes.  (to, from)
function known_copy
    movl $37, %ecx
    rep movsb
    ret
end known_copy

    // 3 retired and stepped: no byte to copy is one step.
function known_copy_nothing
    xorl %ecx, %ecx
    rep movsb
    ret
end known_copy_nothing

    // 2 + 2 n.  (n >= 1)
function known_loop
    movl %edi, %ecx
1:  decl %ecx
    jnz 1b
    ret
end known_loop

    // 4: one is a system call (getpid)
function known_system_call
    movl $39, %eax
    syscall
    nop
    ret
end known_system_call

    // 3: one sets the mask of blocked signals.  (how, set, old, bytes of a set)
function known_mask
    movl %ecx, %r10d
    movl $14, %eax
    syscall
    ret
end known_mask

    // Names that no other library can take: called directly, without a stub.
    .set nothing_here, known_nothing
    .set ten_here, known_ten

    // 14: 3 and those of the two calls inside.  It has two names.
    .globl known_alias
    .type known_alias, @function
    .set known_alias, known_nested
function known_nested
    call nothing_here
    call ten_here
    ret
end known_nested

    // 3 + 4 n: calls itself n times.  (n)
function known_recursion
recursion_here:
    decl %edi
    js 1f
    call recursion_here
1:  ret
end known_recursion

    .section .note.GNU-stack, "", @progbits
