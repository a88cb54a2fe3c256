/* What the workers of tests are: some serve as they should, some are lost, or answer wrongly. */
#ifndef TC_TESTS_FLEET_ROLES_H
#define TC_TESTS_FLEET_ROLES_H

#include "measure/machine/rates.h"

/* Of all of them, in seconds. */
#define TEST_LEASE "0.6"

/* What the machine of a worker says that it can do: it follows from its name. */
tc_meas_rates test_rates_of(const char *name);
/* What a worker of a fleet does: URL NAME THREADS [emulated], URL lost KEY BOOT, URL asked KEY, or URL liar KEY. */
int test_be_worker(char **argv);

#endif
