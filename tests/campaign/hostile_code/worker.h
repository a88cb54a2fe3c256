/* What the test tells its builder. */
#ifndef TC_TESTS_CAMPAIGN_HOSTILE_CODE_WORKER_H
#define TC_TESTS_CAMPAIGN_HOSTILE_CODE_WORKER_H

#define OBJECT_ENV "TCTUNE_HOSTILE_OBJECT" /* the file that it hands out */

#endif
