// fatbin.c - the built kernels as bytes of this object. CUDA_FATBIN: the file's path.
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl cuda_fatbin\n"
        ".hidden cuda_fatbin\n"
        ".type cuda_fatbin, @object\n"
        "cuda_fatbin:\n"
        ".incbin \"" CUDA_FATBIN "\"\n"
        ".size cuda_fatbin, . - cuda_fatbin\n"
        ".previous\n");
