/* cmocka.h with the standard headers that it needs before it. */
#ifndef TC_TESTS_SUPPORT_CMOCKA_ALL_H
#define TC_TESTS_SUPPORT_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
